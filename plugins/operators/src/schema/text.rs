//! Strings.

use super::{
    attr::{FLOATS, INT, INTS, STRING, STRINGS, default, optional, required},
    formals,
};
use crate::relations::{elementwise, misc};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[REGEX_FULL_MATCH, STRING_CONCAT, STRING_NORMALIZER, STRING_SPLIT, TF_IDF_VECTORIZER];

const REGEX_FULL_MATCH: Operator = Operator::new("", "RegexFullMatch", 20)
    .attrs(&[optional(STRING, "pattern")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::predicate)
    .doc("Whether whole strings match a regular expression.");

const STRING_CONCAT: Operator = Operator::new("", "StringConcat", 20)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(misc::string_concat)
    .doc("Strings joined in pairs.");

const STRING_NORMALIZER: Operator = Operator::new("", "StringNormalizer", 10)
    .attrs(&[
        default(STRING, "case_change_action", "\"NONE\""),
        default(INT, "is_case_sensitive", "0"),
        optional(STRING, "locale"),
        optional(STRINGS, "stopwords"),
    ])
    .effects(Effects::TRAPS)
    .infer(misc::string_normalizer)
    .doc("Strings in one case, without stop words.");

const STRING_SPLIT: Operator = Operator::new("", "StringSplit", 20)
    .outputs(2, 2)
    .attrs(&[optional(STRING, "delimiter"), optional(INT, "maxsplit")])
    .infer(misc::string_split)
    .doc("Strings split at a delimiter.");

const TF_IDF_VECTORIZER: Operator = Operator::new("", "TfIdfVectorizer", 9)
    .attrs(&[
        required(INT, "max_gram_length"),
        required(INT, "max_skip_count"),
        required(INT, "min_gram_length"),
        required(STRING, "mode"),
        required(INTS, "ngram_counts"),
        required(INTS, "ngram_indexes"),
        optional(INTS, "pool_int64s"),
        optional(STRINGS, "pool_strings"),
        optional(FLOATS, "weights"),
    ])
    .infer(misc::tf_idf)
    .doc("Counts of n-grams, weighted.");

relais_plugin_api::prelude::operators! { OPERATORS }
