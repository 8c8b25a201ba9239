//! The pass context that a plugin's code runs in: the host's, not a static of the plugin's own (rules R9, R10).

use crate::{
    current,
    options::{OptionType, Value, of_type},
};
use relais_ir::{
    diagnostics::PassError,
    wire::{Fields, Malformed, push_field},
};

/// The tags of a context, as the host encodes it.
mod tag {
    pub const OPT_LEVEL: u16 = 1;
    pub const REQUIRED: u16 = 2;
    pub const DISABLED: u16 = 3;
    pub const CONFIG: u16 = 4;
    /// Another name of something that is required.
    pub const REQUIRED_ALIAS: u16 = 5;
    /// Another name of something that is disabled.
    pub const DISABLED_ALIAS: u16 = 6;
    /// Whether a context that a pass enters starts from the current one.
    pub const INHERITS: u16 = 7;
    /// An instrument of a context that a pass enters: a table of its name to its options.
    pub const INSTRUMENT: u16 = 8;
}

/// The settings that apply to the passes of a context, as they are at the time of the request: a copy, which may be
/// moved to another thread.
#[derive(Clone, PartialEq, Debug)]
pub struct PassContext {
    opt_level: u8,
    required: Vec<String>,
    disabled: Vec<String>,
    /// The other names of the required and disabled passes.
    required_aliases: Vec<String>,
    disabled_aliases: Vec<String>,
    config: Value,
}

/// The context of a thread that entered none.
impl Default for PassContext {
    fn default() -> Self {
        Self {
            opt_level: 2,
            required: Vec::new(),
            disabled: Vec::new(),
            required_aliases: Vec::new(),
            disabled_aliases: Vec::new(),
            config: Value::Struct(Vec::new()),
        }
    }
}

impl PassContext {
    /// The host's current context: within a pass or a hook of an instrument the one that it runs in, on all of the
    /// host's threads. On a thread that the plugin started itself, no context was entered, so it is the default; pass a
    /// copy to the thread.
    pub fn current() -> Self {
        // A host of this boundary version never sends a context that cannot be decoded.
        current::encoded().and_then(|bytes| Self::decode(&bytes).ok()).unwrap_or_default()
    }

    /// Passes up to this level are on.
    pub fn opt_level(&self) -> u8 {
        self.opt_level
    }

    /// Passes that are on at any level.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.required.iter().map(String::as_str)
    }

    /// Passes that are off.
    pub fn disabled(&self) -> impl Iterator<Item = &str> {
        self.disabled.iter().map(String::as_str)
    }

    /// Whether a pass, by any of its names, is on at any level.
    pub fn is_required(&self, pass: &str) -> bool {
        self.required.iter().chain(&self.required_aliases).any(|name| is_named(name, pass))
    }

    /// Whether a pass, by any of its names, is off.
    pub fn is_disabled(&self, pass: &str) -> bool {
        self.disabled.iter().chain(&self.disabled_aliases).any(|name| is_named(name, pass))
    }

    /// Returns an option: the value that is set, otherwise its default; `None` if it is not registered.
    ///
    /// # Errors
    /// Returns an error if it has another type.
    pub fn config<T: OptionType>(&self, key: &str) -> Result<Option<T>, PassError> {
        self.config.get(key).map(|value| of_type(key, value)).transpose()
    }

    /// Every option, as a table.
    #[doc(hidden)]
    pub fn options(&self) -> &Value {
        &self.config
    }

    /// The encoding that crosses the boundary. `aliases` returns the other names of a pass; `config` is a table of
    /// options, including defaults.
    #[doc(hidden)]
    pub fn encode<'a>(
        opt_level: u8,
        required: impl IntoIterator<Item = &'a String>,
        disabled: impl IntoIterator<Item = &'a String>,
        aliases: impl Fn(&str) -> Vec<String>,
        config: &Value,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        push_field(&mut out, tag::OPT_LEVEL, &[opt_level]);
        let mut push = |full, other, name: &String| {
            push_field(&mut out, full, name.as_bytes());
            aliases(name).iter().for_each(|alias| push_field(&mut out, other, alias.as_bytes()));
        };
        required.into_iter().for_each(|name| push(tag::REQUIRED, tag::REQUIRED_ALIAS, name));
        disabled.into_iter().for_each(|name| push(tag::DISABLED, tag::DISABLED_ALIAS, name));
        push_field(&mut out, tag::CONFIG, &config.encode());
        out
    }

    /// Reads an encoding.
    ///
    /// # Errors
    /// Returns an error if the bytes are none.
    #[doc(hidden)]
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut context = Self::default();
        for field in Fields::new(bytes) {
            let field = field?;
            match field.tag {
                tag::OPT_LEVEL => context.opt_level = field.u8()?,
                tag::REQUIRED => context.required.push(field.text()?.to_owned()),
                tag::DISABLED => context.disabled.push(field.text()?.to_owned()),
                tag::REQUIRED_ALIAS => context.required_aliases.push(field.text()?.to_owned()),
                tag::DISABLED_ALIAS => context.disabled_aliases.push(field.text()?.to_owned()),
                tag::CONFIG => context.config = Value::decode(field.bytes)?,
                // A later host sends more.
                _ => {}
            }
        }
        Ok(context)
    }
}

/// The settings of a context that a pass enters for the passes that it runs (see
/// [`PassCx::within`](crate::pass::PassCx::within)). Names and values are checked when it is entered.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ContextSettings {
    /// Whether they start from the settings of the current context.
    pub inherits: bool,
    /// Passes up to this level are on.
    pub opt_level: Option<u8>,
    /// Passes that are on at any level.
    pub required: Vec<String>,
    /// Passes that are off.
    pub disabled: Vec<String>,
    /// Options of the context.
    pub config: Vec<(String, Value)>,
    /// Instruments, each with a table of its options.
    pub instruments: Vec<(String, Value)>,
}

impl ContextSettings {
    /// Default settings: level 2, empty lists, no options, no instruments.
    pub fn new() -> Self {
        Self::default()
    }

    /// The settings of the current context, without its instruments (rule R9).
    pub fn inherited() -> Self {
        Self { inherits: true, ..Self::default() }
    }

    /// The same with passes up to a level on.
    pub fn opt_level(self, opt_level: u8) -> Self {
        Self { opt_level: Some(opt_level), ..self }
    }

    /// The same with a pass that is on at any level.
    pub fn require(mut self, pass: &str) -> Self {
        self.required.push(pass.to_owned());
        self
    }

    /// The same with a pass that is off. `"Name?"` need not exist.
    pub fn disable(mut self, pass: &str) -> Self {
        self.disabled.push(pass.to_owned());
        self
    }

    /// The same with an option of the context.
    pub fn config(mut self, key: &str, value: Value) -> Self {
        self.config.push((key.to_owned(), value));
        self
    }

    /// The same with an instrument, by name, which watches the passes that run in the context.
    pub fn instrument(mut self, name: &str, options: Vec<(String, Value)>) -> Self {
        self.instruments.push((name.to_owned(), Value::Struct(options)));
        self
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_field(&mut out, tag::INHERITS, &[self.inherits.into()]);
        if let Some(opt_level) = self.opt_level {
            push_field(&mut out, tag::OPT_LEVEL, &[opt_level]);
        }
        self.required.iter().for_each(|name| push_field(&mut out, tag::REQUIRED, name.as_bytes()));
        self.disabled.iter().for_each(|name| push_field(&mut out, tag::DISABLED, name.as_bytes()));
        push_field(&mut out, tag::CONFIG, &Value::Struct(self.config.clone()).encode());
        for (name, options) in &self.instruments {
            let named = Value::Struct(vec![(name.clone(), options.clone())]);
            push_field(&mut out, tag::INSTRUMENT, &named.encode());
        }
        out
    }

    /// Reads an encoding.
    ///
    /// # Errors
    /// Returns an error if the bytes are not one, or say something that this version does not know.
    #[doc(hidden)]
    pub fn decode(bytes: &[u8]) -> Result<Self, PassError> {
        let mut settings = Self::default();
        let entries = |value: Value| match value {
            Value::Struct(entries) => entries,
            _ => Vec::new(),
        };
        for field in Fields::new(bytes) {
            let field = field.map_err(PassError::new)?;
            let text = || field.text().map(str::to_owned).map_err(PassError::new);
            let table = || Value::decode(field.bytes).map(entries).map_err(PassError::new);
            match field.tag {
                tag::INHERITS => settings.inherits = field.u8().map_err(PassError::new)? != 0,
                tag::OPT_LEVEL => settings.opt_level = Some(field.u8().map_err(PassError::new)?),
                tag::REQUIRED => settings.required.push(text()?),
                tag::DISABLED => settings.disabled.push(text()?),
                tag::CONFIG => settings.config.extend(table()?),
                tag::INSTRUMENT => settings.instruments.extend(table()?),
                // To ignore a setting would be to run in another context than the one that was asked for.
                other => {
                    return Err(PassError::new(format_args!("setting {other} of a context is of a later version")));
                }
            }
        }
        Ok(settings)
    }
}

/// Whether a name means the pass of a full name.
fn is_named(full: &str, name: &str) -> bool {
    full == name || full.rsplit_once('.').is_some_and(|(_, short)| short == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded() -> Vec<u8> {
        let config = Value::Struct(vec![("acme.depth".into(), Value::Int(4))]);
        let aliases = |name: &str| vec![format!("old.{name}Alias")];
        PassContext::encode(3, &["a.On".to_owned()], &["a.Off".to_owned()], aliases, &config)
    }

    #[test]
    fn a_context_survives_its_encoding() {
        let context = PassContext::decode(&encoded()).unwrap();
        assert_eq!(context.opt_level(), 3);
        assert!(context.is_required("On") && context.is_required("a.On") && !context.is_required("b.On"));
        assert!(context.is_disabled("Off") && !context.is_disabled("On"));
        assert!(
            context.is_disabled("old.a.OffAlias") && context.is_disabled("OffAlias") && context.is_required("OnAlias")
        );
        assert!(!context.is_disabled("old.a.OnAlias") && context.disabled().eq(["a.Off"]));
        assert_eq!(context.config("acme.depth").unwrap(), Some(4));
        assert_eq!(context.config::<i64>("acme.deep").unwrap(), None);
        let error = context.config::<bool>("acme.depth").unwrap_err();
        assert_eq!(error.rec().message, "option `acme.depth` of the context is an integer, and is read as `bool`");
    }

    #[test]
    fn cut_encodings_never_panic() {
        let bytes = encoded();
        for len in 0..bytes.len() {
            let _ = PassContext::decode(&bytes[..len]);
        }
        assert!(PassContext::decode(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn r10_outside_of_every_pass_the_context_is_the_default() {
        assert_eq!(PassContext::current(), PassContext::default());
        assert_eq!(PassContext::default().opt_level(), 2);
    }
}
