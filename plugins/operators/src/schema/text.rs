//! Strings.

use super::versions::{all, count};
use crate::relations;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[REGEX_FULL_MATCH, STRING_CONCAT, STRING_NORMALIZER, STRING_SPLIT, TF_IDF_VECTORIZER];

const REGEX_FULL_MATCH: Operator = Operator::new("", "RegexFullMatch", 20)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::predicate)
    .doc("Whether whole strings match a regular expression.");

const STRING_CONCAT: Operator = Operator::new("", "StringConcat", 20)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::text::string_concat)
    .doc("Strings joined in pairs.");

const STRING_NORMALIZER: Operator = Operator::new("", "StringNormalizer", 10)
    .effects(Effects::TRAPS)
    .infer(relations::text::string_normalizer)
    .doc("Strings in one case, without stop words.");

const STRING_SPLIT: Operator =
    Operator::new("", "StringSplit", 20).infer(relations::text::string_split).doc("Strings split at a delimiter.");

const TF_IDF_VECTORIZER: Operator =
    Operator::new("", "TfIdfVectorizer", 9).infer(relations::text::tf_idf).doc("Counts of n-grams, weighted.");

relais_plugin_api::prelude::operators! { OPERATORS }
