//! A lane: a connection over which one call at a time goes, whole messages in both directions.

use super::message::{MAX_FIELDS, MAX_FILES, Message, diagnostic_of, kind, lists_of, shared_after, tag};
use abi_stable::std_types::RArc;
use relais_files::mapped::map_descriptor;
use relais_plugin_api::{
    boundary::{
        ship::Exchange,
        wire::{Fields, push_field},
    },
    ir::{Blob, Function},
};
use rustix::{
    cmsg_space,
    io::Errno,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
        recvmsg, sendmsg,
    },
};
use std::{
    fmt,
    fs::File,
    io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    os::{fd::AsFd, unix::net::UnixStream},
    time::{Duration, Instant},
};

/// Bytes of a header: magic, kind, number of descriptors, length of the fields, length of the body.
const HEADER: usize = 24;
const MAGIC: [u8; 8] = *b"\x89RelLane";

/// The memory that a shared piece takes beside its bytes.
const OF_BLOB: u64 = 128;

/// How often the wait is interrupted.
const TICK: Duration = Duration::from_millis(20);

/// Why nothing more comes over a lane.
#[derive(Debug)]
pub enum LaneError {
    /// The other end is gone.
    Closed,
    /// The bytes that came are not a message: why.
    Broken(String),
    /// The wait was ended: why.
    Stopped(String),
}

impl fmt::Display for LaneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::Broken(why) | Self::Stopped(why) => f.write_str(why),
        }
    }
}

/// Looks around now and then, also while something comes; an error ends the wait.
pub type Watch<'a> = dyn FnMut() -> Result<(), LaneError> + 'a;

/// Whether files come with messages of the other end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// They do: it is the host.
    Taken,
    /// They do not: it is a worker, which is not believed.
    Refused,
}

/// One end of a lane.
pub struct Lane {
    stream: UnixStream,
    files: Files,
    /// The most bytes of a body that are taken.
    most: u64,
    /// The state that both ends share.
    pub exchange: Exchange,
    /// How many of the shared bytes the other end knows.
    told: usize,
    /// How many bytes of them the other end has sent.
    kept: u64,
    /// The time of the last look around.
    looked: Instant,
    /// The function that was shipped last, which both ends have, and for the host as it was shipped.
    pub last: Option<(RArc<Function>, Vec<u8>)>,
}

impl Lane {
    /// One end, which takes bodies of at most `most` bytes.
    pub fn new(stream: UnixStream, files: Files, most: u64) -> io::Result<Self> {
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(TICK))?;
        Ok(Self {
            stream,
            files,
            most,
            exchange: Exchange::default(),
            told: 0,
            kept: 0,
            looked: Instant::now(),
            last: None,
        })
    }

    /// Sends a message and what it ships, with those of the shared bytes that the other end does not know.
    ///
    /// # Errors
    /// Returns an error if the other end is gone, or `watch` ends the wait.
    pub fn send(&mut self, message: &Message, ship: &[u8], watch: &mut Watch<'_>) -> Result<(), LaneError> {
        let (kind, mut fields) = (message.kind, message.fields.clone());
        // No host takes files of a worker.
        let (shared, blobs, mapped) = shared_after(&self.exchange, self.told, self.files == Files::Refused);
        self.told = self.exchange.shared().len();
        push_field(&mut fields, tag::SHIP, &(ship.len() as u64).to_le_bytes());
        fields.extend_from_slice(&shared);
        let files: Vec<&File> = message.files.iter().chain(&mapped).collect();
        let body = ship.len() as u64 + blobs.iter().map(|blob| blob.len() as u64).sum::<u64>();
        let mut head = Vec::with_capacity(HEADER + fields.len());
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&kind.to_le_bytes());
        head.extend_from_slice(&(files.len() as u16).to_le_bytes());
        head.extend_from_slice(&(fields.len() as u32).to_le_bytes());
        head.extend_from_slice(&body.to_le_bytes());
        head.extend_from_slice(&fields);
        let sent = self.send_with_files(&head, &files, watch)?;
        self.write(&head[sent..], watch)?;
        self.write(ship, watch)?;
        blobs.iter().try_for_each(|blob| self.write(blob, watch))
    }

    fn send_with_files(&mut self, bytes: &[u8], files: &[&File], watch: &mut Watch<'_>) -> Result<usize, LaneError> {
        if files.is_empty() {
            return Ok(0);
        }
        let descriptors: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        loop {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FILES + 1))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            match sendmsg(&self.stream, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(sent) => return Ok(sent),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => watch()?,
                Err(_) => return Err(LaneError::Closed),
            }
        }
    }

    fn write(&mut self, mut bytes: &[u8], watch: &mut Watch<'_>) -> Result<(), LaneError> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(n) => {
                    bytes = &bytes[n..];
                    self.look(watch)?;
                }
                Err(error) => again(&error, watch)?,
            }
        }
        Ok(())
    }

    /// Waits for a message, and takes the shared bytes that come with it.
    ///
    /// # Errors
    /// Returns an error if the other end is gone, the bytes that came are not a message, or `watch` ends the wait.
    pub fn receive(&mut self, watch: &mut Watch<'_>) -> Result<Message, LaneError> {
        let mut header = [0; HEADER];
        self.look(watch)?;
        let mut received = self.receive_header(&mut header, watch)?;
        let (magic, rest) = header.split_at(8);
        let number = |from: usize, to: usize| rest[from..to].iter().rev().fold(0, |sum, &it| sum << 8 | u64::from(it));
        let (about, n_files, n_fields, n_body) = (number(0, 2) as u16, number(2, 4), number(4, 8), number(8, 16));
        if magic != MAGIC {
            return Err(LaneError::Broken("what it sent is not a message".into()));
        }
        if n_fields > MAX_FIELDS as u64 || n_body > self.most {
            return Err(LaneError::Broken(format!("it sent a message of {n_fields} and {n_body} bytes")));
        }
        if n_files != received.len() as u64 {
            return Err(LaneError::Broken(format!(
                "{n_files} files come with its message, and {} came",
                received.len()
            )));
        }
        let fields = self.read(n_fields as usize, watch)?;
        let body = self.read(n_body as usize, watch)?;
        let mut message = Message { kind: about, fields, ..Message::default() };
        message.check().map_err(|error| LaneError::Broken(format!("the fields of its message: {error}")))?;
        let broken = || LaneError::Broken("the parts of its message do not fit".into());
        let n_ship = usize::try_from(message.get(tag::SHIP)).map_err(|_| broken())?;
        let (ship, mut rest) = body.split_at_checked(n_ship).ok_or_else(broken)?;
        let mut shared = Vec::new();
        let mut mapped = received.drain(received.len() - message.all(tag::SHARED_FILE).count().min(received.len())..);
        for field in Fields::new(&message.fields).map_while(Result::ok) {
            match field.tag {
                tag::SHARED => {
                    let len = field.u64().ok().and_then(|len| usize::try_from(len).ok()).ok_or_else(broken)?;
                    // Nothing else has results, and those of a call fit into the memory of a process.
                    let is_result = self.files == Files::Taken || matches!(about, kind::DONE | kind::RUN_PASS);
                    self.kept = self.kept.saturating_add((len as u64).saturating_add(OF_BLOB));
                    if !is_result || self.kept > self.most.saturating_mul(2) {
                        return Err(LaneError::Broken(format!("it sent {} bytes of tensors", self.kept)));
                    }
                    let (bytes, after) = rest.split_at_checked(len).ok_or_else(broken)?;
                    rest = after;
                    shared.push(Blob::from(bytes));
                }
                tag::SHARED_FILE => {
                    let file = mapped.next().ok_or_else(broken)?;
                    shared.push(map_descriptor(file).map_err(|error| LaneError::Broken(error.to_string()))?);
                }
                _ => {}
            }
        }
        drop(mapped);
        message.ship = if rest.is_empty() && ship.len() == body.len() { body } else { ship.to_vec() };
        message.files = received;
        shared.into_iter().for_each(|blob| self.exchange.add(blob));
        self.told = self.exchange.shared().len();
        Ok(message)
    }

    /// Reads a header, with the descriptors that come with its first byte.
    fn receive_header(&mut self, header: &mut [u8; HEADER], watch: &mut Watch<'_>) -> Result<Vec<File>, LaneError> {
        let mut files = Vec::new();
        let mut at = 0;
        while at < HEADER {
            if self.files == Files::Refused {
                match self.stream.read(&mut header[at..]) {
                    Ok(0) => return Err(LaneError::Closed),
                    Ok(n) => {
                        at += n;
                        self.look(watch)?;
                    }
                    Err(error) => again(&error, watch)?,
                }
                continue;
            }
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FILES + 1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let room = &mut [IoSliceMut::new(&mut header[at..])];
            match recvmsg(&self.stream, room, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Ok(received) if received.bytes == 0 => return Err(LaneError::Closed),
                Ok(received) => at += received.bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => watch()?,
                Err(_) => return Err(LaneError::Closed),
            }
            for message in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    files.extend(descriptors.map(File::from));
                }
            }
        }
        Ok(files)
    }

    fn read(&mut self, len: usize, watch: &mut Watch<'_>) -> Result<Vec<u8>, LaneError> {
        let mut bytes = Vec::new();
        let no_room = |_| LaneError::Broken(format!("it sent {len} bytes, which do not fit into memory"));
        bytes.try_reserve_exact(len).map_err(no_room)?;
        let mut at = 0;
        while at < len {
            if at == bytes.len() {
                // Memory is touched for what comes, not for what is announced.
                bytes.resize(len.min(at.max(1 << 20) * 2), 0);
            }
            match self.stream.read(&mut bytes[at..]) {
                Ok(0) => return Err(LaneError::Closed),
                Ok(n) => {
                    at += n;
                    self.look(watch)?;
                }
                Err(error) => again(&error, watch)?,
            }
        }
        Ok(bytes)
    }

    /// Looks around, unless that was done a moment ago.
    fn look(&mut self, watch: &mut Watch<'_>) -> Result<(), LaneError> {
        if self.looked.elapsed() < TICK {
            return Ok(());
        }
        self.looked = Instant::now();
        watch()
    }

    /// Whether so much is shared that both ends do better with a new lane.
    pub fn is_full(&self) -> bool {
        const ROOM: u64 = 256 << 20;
        let own = |blob: &&Blob| blob.file().is_none();
        let shared: u64 = self.exchange.shared().iter().filter(own).map(|blob| blob.len() as u64).sum();
        shared.max(self.kept) > ROOM.min(self.most)
    }
}

/// Reads bytes as the host reads those of a process, with what it makes of each message, and returns how many messages they
/// are.
pub fn count_messages(bytes: &[u8]) -> io::Result<usize> {
    let (ours, mut theirs) = UnixStream::pair()?;
    // They fit into what the system keeps of a connection.
    theirs.write_all(bytes)?;
    drop(theirs);
    let mut lane = Lane::new(ours, Files::Refused, 1 << 20)?;
    let mut n = 0;
    while let Ok(message) = lane.receive(&mut || Ok(())) {
        n += 1;
        if message.has(tag::ERROR) {
            let _ = message.failure().to_string();
        }
        for field in message.all(tag::DIAGNOSTIC) {
            let _ = diagnostic_of(field.bytes).map(|diagnostic| diagnostic.to_string());
        }
        let _ = lists_of(&message);
    }
    Ok(n)
}

/// Whether to try again after an error.
fn again(error: &io::Error, watch: &mut Watch<'_>) -> Result<(), LaneError> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => watch(),
        ErrorKind::Interrupted => Ok(()),
        _ => Err(LaneError::Closed),
    }
}
