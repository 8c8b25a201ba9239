//! Classical machine learning, `ai.onnx.ml`.

use super::versions::{all, count};
use crate::relations;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    ARRAY_FEATURE_EXTRACTOR,
    BINARIZER,
    CAST_MAP,
    CATEGORY_MAPPER,
    DICT_VECTORIZER,
    FEATURE_VECTORIZER,
    IMPUTER,
    LABEL_ENCODER,
    LINEAR_CLASSIFIER,
    LINEAR_REGRESSOR,
    NORMALIZER,
    ONE_HOT_ENCODER,
    SVM_CLASSIFIER,
    SVM_REGRESSOR,
    SCALER,
    TREE_ENSEMBLE,
    TREE_ENSEMBLE_CLASSIFIER,
    TREE_ENSEMBLE_REGRESSOR,
    ZIP_MAP,
];

const DOMAIN: &str = "ai.onnx.ml";

const ARRAY_FEATURE_EXTRACTOR: Operator = Operator::new(DOMAIN, "ArrayFeatureExtractor", 1)
    .effects(Effects::TRAPS)
    .infer(relations::ml::columns)
    .doc("Columns by index.");

const BINARIZER: Operator = Operator::new(DOMAIN, "Binarizer", 1)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .doc("Whether elements are above a threshold, as a number.");

const CAST_MAP: Operator =
    Operator::new(DOMAIN, "CastMap", 1).infer(relations::ml::cast_map).doc("A map turned into a tensor.");

const CATEGORY_MAPPER: Operator = Operator::new(DOMAIN, "CategoryMapper", 1)
    .infer(relations::ml::category)
    .doc("Strings turned into integers or back.");

const DICT_VECTORIZER: Operator = Operator::new(DOMAIN, "DictVectorizer", 1)
    .infer(relations::ml::dict_vectorizer)
    .doc("A map turned into a vector by a vocabulary.");

const FEATURE_VECTORIZER: Operator = Operator::new(DOMAIN, "FeatureVectorizer", 1)
    .infer(relations::ml::feature_vectorizer)
    .doc("Tensors joined into one feature vector.");

const IMPUTER: Operator =
    Operator::new(DOMAIN, "Imputer", 1).infer(relations::shared::elementwise::same).doc("Missing values replaced.");

const LABEL_ENCODER: Operator =
    Operator::new(DOMAIN, "LabelEncoder", 4).infer(relations::ml::label).doc("Values replaced by a table.");

const LINEAR_CLASSIFIER: Operator =
    Operator::new(DOMAIN, "LinearClassifier", 1).infer(relations::ml::linear_classifier).doc("A linear classifier.");

const LINEAR_REGRESSOR: Operator =
    Operator::new(DOMAIN, "LinearRegressor", 1).infer(relations::ml::linear_regressor).doc("A linear regression.");

const NORMALIZER: Operator =
    Operator::new(DOMAIN, "Normalizer", 1).infer(relations::ml::floats).doc("Rows divided by a norm.");

const ONE_HOT_ENCODER: Operator = Operator::new(DOMAIN, "OneHotEncoder", 1)
    .effects(Effects::TRAPS)
    .infer(relations::ml::one_hot)
    .doc("Categories turned into one-hot vectors.");

const SVM_CLASSIFIER: Operator =
    Operator::new(DOMAIN, "SVMClassifier", 1).infer(relations::ml::svm_classifier).doc("A support vector classifier.");

const SVM_REGRESSOR: Operator =
    Operator::new(DOMAIN, "SVMRegressor", 1).infer(relations::ml::svm_regressor).doc("A support vector regression.");

const SCALER: Operator = Operator::new(DOMAIN, "Scaler", 1)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::ml::floats)
    .doc("Features shifted and scaled.");

const TREE_ENSEMBLE: Operator =
    Operator::new(DOMAIN, "TreeEnsemble", 5).infer(relations::ml::trees).doc("An ensemble of trees.");

const TREE_ENSEMBLE_CLASSIFIER: Operator = Operator::new(DOMAIN, "TreeEnsembleClassifier", 5)
    .infer(relations::ml::tree_classifier)
    .doc("A classifier of trees.");

const TREE_ENSEMBLE_REGRESSOR: Operator = Operator::new(DOMAIN, "TreeEnsembleRegressor", 5)
    .infer(relations::ml::tree_regressor)
    .doc("A regression of trees.");

const ZIP_MAP: Operator =
    Operator::new(DOMAIN, "ZipMap", 1).infer(relations::ml::zip_map).doc("Rows turned into maps.");

relais_plugin_api::prelude::operators! { OPERATORS }
