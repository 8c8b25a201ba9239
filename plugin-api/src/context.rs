//! The pass context that a plugin's code runs in: the host's, not a static of the plugin's own (rules R9, R10).

use crate::{
    boundary::{
        current,
        wire::{Fields, Malformed, push_field},
    },
    options::{OptionType, Value},
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
    /// The host's current context: within a pass or a hook of an instrument the one that it runs in, on whichever of
    /// the host's threads. On a thread that the plugin started itself nothing was entered, so that it is the default;
    /// take a copy there.
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

    /// Returns an option: the value that is set, otherwise its default; `None` if it is not registered or has another
    /// type.
    pub fn config<T: OptionType>(&self, key: &str) -> Option<T> {
        T::from_value(self.config.get(key)?)
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
        assert_eq!(context.config("acme.depth"), Some(4));
        assert_eq!(context.config::<bool>("acme.depth"), None);
        assert_eq!(context.config::<i64>("acme.deep"), None);
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
