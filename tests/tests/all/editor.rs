//! The help that an editor shows for a pipeline: a language server for TOML, with the schema that is beside the shipped
//! pipelines.

use relais_tests::venv;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

/// A language server that speaks over its standard streams.
struct Server {
    process: Child,
    input: ChildStdin,
    said: Receiver<Value>,
    n_requests: u64,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(venv::program("tombi"))
            .args(["lsp", "--offline"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, said) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut server = Self { process, input, said, n_requests: 0 };
        server.request("initialize", &json!({ "processId": null, "rootUri": uri(""), "capabilities": {} }));
        server.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        server
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.n_requests += 1;
        let id = self.n_requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let said = self.said.recv_timeout(Duration::from_secs(120)).expect("the server answers");
            match (said.get("method"), said.get("id")) {
                // It asks for something, settings for example; there are none.
                (Some(_), Some(asked)) => self.send(&json!({ "jsonrpc": "2.0", "id": asked, "result": null })),
                (None, Some(answered)) if *answered == json!(id) => return said["result"].clone(),
                _ => {}
            }
        }
    }

    /// Opens a pipeline beside the shipped ones; the file itself does not exist.
    fn open(&mut self, name: &str, text: &str) -> Document<'_> {
        let document = json!({ "uri": uri(name), "languageId": "toml", "version": 1, "text": text });
        let message =
            json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } });
        self.send(&message);
        let mut document = Document { server: self, name: name.to_owned(), text: text.to_owned() };
        // It answers before it has read the text, as if there were none.
        let mut n_asked = 0;
        while document.hover("\nsteps").is_empty() {
            n_asked += 1;
            assert!(n_asked < 1000, "the server never reads the text");
            std::thread::sleep(Duration::from_millis(20));
        }
        document
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Document<'s> {
    server: &'s mut Server,
    name: String,
    text: String,
}

impl Document<'_> {
    fn at(&self, place: &str) -> Value {
        let end = self.text.find(place).expect("the text has the place") + place.len();
        let line = self.text[..end].matches('\n').count();
        let character = end - self.text[..end].rfind('\n').map_or(0, |newline| newline + 1);
        json!({
            "textDocument": { "uri": uri(&self.name) },
            "position": { "line": line, "character": character },
        })
    }

    /// Returns the completions right after a place.
    fn completions(&mut self, after: &str) -> Vec<String> {
        let answer = self.server.request("textDocument/completion", &self.at(after));
        let items = answer.get("items").unwrap_or(&answer).as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["label"].as_str().unwrap().trim_matches('"').to_owned()).collect()
    }

    /// Returns the hover text at the end of a place.
    fn hover(&mut self, place: &str) -> String {
        let answer = self.server.request("textDocument/hover", &self.at(place));
        answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    fn faults(&mut self) -> String {
        let document = json!({ "textDocument": { "uri": uri(&self.name) } });
        let answer = self.server.request("textDocument/diagnostic", &document);
        let faults = answer["items"].as_array().cloned().unwrap_or_default();
        faults.iter().map(|fault| format!("{}: {}\n", fault["range"]["start"]["line"], fault["message"])).collect()
    }
}

fn read(from: &mut impl BufRead) -> Option<Value> {
    let mut len = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(':') {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => len = value.trim().parse().ok()?,
            Some(_) => {}
        }
    }
    let mut text = vec![0; len];
    from.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The address of a file beside the shipped pipelines.
fn uri(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pipelines").canonicalize().unwrap();
    format!("file://{}/{name}", folder.display().to_string().replace('\\', "/"))
}

const PIPELINE: &str = "#:schema ./schema.json
opt_level = 2
steps = [
    { pass = \"\" },
    { pass = \"FoldConstant\", options = {  } },
    { pass = \"InferType\", options = {  } },
]
";

#[test]
#[cfg_attr(windows, ignore = "addresses of files look different there")]
fn r23_an_editor_offers_passes_and_their_options() {
    let mut server = Server::start();
    let mut pipeline = server.open("new.toml", PIPELINE);
    let passes = pipeline.completions("pass = \"");
    for pass in ["InferType", "FoldConstant", "relay._transform.FoldConstant"] {
        assert!(passes.iter().any(|name| name == pass), "{pass}: {passes:?}");
    }
    assert_eq!(
        pipeline.completions("\"FoldConstant\", options = { "),
        ["exact", "max_growth", "max_total_growth", "max_work", "quantization"]
    );
    assert_eq!(pipeline.completions("\"InferType\", options = { "), ["strict"]);
    let shown = pipeline.hover("pass = \"FoldCons");
    assert!(shown.contains("Replaces calls of constants by their values"), "{shown}");
}

#[test]
#[cfg_attr(windows, ignore = "addresses of files look different there")]
fn r22_an_editor_marks_what_is_wrong() {
    let right = PIPELINE.replace("{ pass = \"\" },", "\"EliminateNoOp\",");
    let mut server = Server::start();
    assert_eq!(server.open("right.toml", &right).faults(), "");
    let mut wrong =
        server.open("wrong.toml", &right.replace("opt_level", "opt_levle").replace("{  }", "{ strict = 1 }"));
    let faults = wrong.faults();
    for (line, key) in [(1, "opt_levle"), (4, "strict")] {
        assert!(faults.lines().any(|fault| fault.starts_with(&format!("{line}: ")) && fault.contains(key)), "{faults}");
    }
}
