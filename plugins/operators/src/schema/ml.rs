//! Classical machine learning, `ai.onnx.ml`.

use super::{
    attr::{ANY, FLOAT, FLOATS, INT, INTS, STRING, STRINGS, TENSOR, default, optional, required},
    formals,
};
use crate::relations::{elementwise, ml};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    ARRAY_FEATURE_EXTRACTOR,
    BINARIZER,
    CAST_MAP,
    CATEGORY_MAPPER,
    DICT_VECTORIZER,
    FEATURE_VECTORIZER,
    IMPUTER,
    LABEL_ENCODER,
    LABEL_ENCODER.since(2).attrs(&[
        default(FLOAT, "default_float", "-0.0"),
        default(INT, "default_int64", "-1"),
        default(STRING, "default_string", "\"_Unused\""),
        optional(FLOATS, "keys_floats"),
        optional(INTS, "keys_int64s"),
        optional(STRINGS, "keys_strings"),
        optional(FLOATS, "values_floats"),
        optional(INTS, "values_int64s"),
        optional(STRINGS, "values_strings"),
    ]),
    LABEL_ENCODER.since(1).attrs(&[
        optional(STRINGS, "classes_strings"),
        default(INT, "default_int64", "-1"),
        default(STRING, "default_string", "\"_Unused\""),
    ]),
    LINEAR_CLASSIFIER,
    LINEAR_REGRESSOR,
    NORMALIZER,
    ONE_HOT_ENCODER,
    SVM_CLASSIFIER,
    SVM_REGRESSOR,
    SCALER,
    TREE_ENSEMBLE,
    TREE_ENSEMBLE_CLASSIFIER,
    TREE_ENSEMBLE_CLASSIFIER.since(3),
    TREE_ENSEMBLE_CLASSIFIER.since(1).attrs(&[
        optional(FLOATS, "base_values"),
        optional(INTS, "class_ids"),
        optional(INTS, "class_nodeids"),
        optional(INTS, "class_treeids"),
        optional(FLOATS, "class_weights"),
        optional(INTS, "classlabels_int64s"),
        optional(STRINGS, "classlabels_strings"),
        optional(INTS, "nodes_falsenodeids"),
        optional(INTS, "nodes_featureids"),
        optional(FLOATS, "nodes_hitrates"),
        optional(INTS, "nodes_missing_value_tracks_true"),
        optional(STRINGS, "nodes_modes"),
        optional(INTS, "nodes_nodeids"),
        optional(INTS, "nodes_treeids"),
        optional(INTS, "nodes_truenodeids"),
        optional(FLOATS, "nodes_values"),
        default(STRING, "post_transform", "\"NONE\""),
    ]),
    TREE_ENSEMBLE_REGRESSOR,
    TREE_ENSEMBLE_REGRESSOR.since(3),
    TREE_ENSEMBLE_REGRESSOR.since(1).attrs(&[
        default(STRING, "aggregate_function", "\"SUM\""),
        optional(FLOATS, "base_values"),
        optional(INT, "n_targets"),
        optional(INTS, "nodes_falsenodeids"),
        optional(INTS, "nodes_featureids"),
        optional(FLOATS, "nodes_hitrates"),
        optional(INTS, "nodes_missing_value_tracks_true"),
        optional(STRINGS, "nodes_modes"),
        optional(INTS, "nodes_nodeids"),
        optional(INTS, "nodes_treeids"),
        optional(INTS, "nodes_truenodeids"),
        optional(FLOATS, "nodes_values"),
        default(STRING, "post_transform", "\"NONE\""),
        optional(INTS, "target_ids"),
        optional(INTS, "target_nodeids"),
        optional(INTS, "target_treeids"),
        optional(FLOATS, "target_weights"),
    ]),
    ZIP_MAP,
];

const DOMAIN: &str = "ai.onnx.ml";

const ARRAY_FEATURE_EXTRACTOR: Operator = Operator::new(DOMAIN, "ArrayFeatureExtractor", 1)
    .inputs(2, 2)
    .effects(Effects::TRAPS)
    .infer(ml::columns)
    .doc("Columns by index.");

const BINARIZER: Operator = Operator::new(DOMAIN, "Binarizer", 1)
    .attrs(&[default(FLOAT, "threshold", "0.0")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("Whether elements are above a threshold, as a number.");

const CAST_MAP: Operator = Operator::new(DOMAIN, "CastMap", 1)
    .attrs(&[
        default(STRING, "cast_to", "\"TO_FLOAT\""),
        default(STRING, "map_form", "\"DENSE\""),
        default(INT, "max_map", "1"),
    ])
    .infer(ml::cast_map)
    .doc("A map turned into a tensor.");

const CATEGORY_MAPPER: Operator = Operator::new(DOMAIN, "CategoryMapper", 1)
    .attrs(&[
        optional(INTS, "cats_int64s"),
        optional(STRINGS, "cats_strings"),
        default(INT, "default_int64", "-1"),
        default(STRING, "default_string", "\"_Unused\""),
    ])
    .infer(ml::category)
    .doc("Strings turned into integers or back.");

const DICT_VECTORIZER: Operator = Operator::new(DOMAIN, "DictVectorizer", 1)
    .attrs(&[optional(INTS, "int64_vocabulary"), optional(STRINGS, "string_vocabulary")])
    .infer(ml::dict_vectorizer)
    .doc("A map turned into a vector by a vocabulary.");

const FEATURE_VECTORIZER: Operator = Operator::new(DOMAIN, "FeatureVectorizer", 1)
    .inputs(1, ANY)
    .attrs(&[optional(INTS, "inputdimensions")])
    .infer(ml::feature_vectorizer)
    .doc("Tensors joined into one feature vector.");

const IMPUTER: Operator = Operator::new(DOMAIN, "Imputer", 1)
    .attrs(&[
        optional(FLOATS, "imputed_value_floats"),
        optional(INTS, "imputed_value_int64s"),
        default(FLOAT, "replaced_value_float", "0.0"),
        default(INT, "replaced_value_int64", "0"),
    ])
    .infer(elementwise::same)
    .doc("Missing values replaced.");

const LABEL_ENCODER: Operator = Operator::new(DOMAIN, "LabelEncoder", 4)
    .attrs(&[
        default(FLOAT, "default_float", "-0.0"),
        default(INT, "default_int64", "-1"),
        default(STRING, "default_string", "\"_Unused\""),
        optional(TENSOR, "default_tensor"),
        optional(FLOATS, "keys_floats"),
        optional(INTS, "keys_int64s"),
        optional(STRINGS, "keys_strings"),
        optional(TENSOR, "keys_tensor"),
        optional(FLOATS, "values_floats"),
        optional(INTS, "values_int64s"),
        optional(STRINGS, "values_strings"),
        optional(TENSOR, "values_tensor"),
    ])
    .infer(ml::label)
    .doc("Values replaced by a table.");

const LINEAR_CLASSIFIER: Operator = Operator::new(DOMAIN, "LinearClassifier", 1)
    .outputs(2, 2)
    .attrs(&[
        optional(INTS, "classlabels_ints"),
        optional(STRINGS, "classlabels_strings"),
        required(FLOATS, "coefficients"),
        optional(FLOATS, "intercepts"),
        default(INT, "multi_class", "0"),
        default(STRING, "post_transform", "\"NONE\""),
    ])
    .infer(ml::linear_classifier)
    .doc("A linear classifier.");

const LINEAR_REGRESSOR: Operator = Operator::new(DOMAIN, "LinearRegressor", 1)
    .attrs(&[
        optional(FLOATS, "coefficients"),
        optional(FLOATS, "intercepts"),
        default(STRING, "post_transform", "\"NONE\""),
        default(INT, "targets", "1"),
    ])
    .infer(ml::linear_regressor)
    .doc("A linear regression.");

const NORMALIZER: Operator = Operator::new(DOMAIN, "Normalizer", 1)
    .attrs(&[default(STRING, "norm", "\"MAX\"")])
    .infer(ml::floats)
    .doc("Rows divided by a norm.");

const ONE_HOT_ENCODER: Operator = Operator::new(DOMAIN, "OneHotEncoder", 1)
    .attrs(&[optional(INTS, "cats_int64s"), optional(STRINGS, "cats_strings"), default(INT, "zeros", "1")])
    .effects(Effects::TRAPS)
    .infer(ml::one_hot)
    .doc("Categories turned into one-hot vectors.");

const SVM_CLASSIFIER: Operator = Operator::new(DOMAIN, "SVMClassifier", 1)
    .outputs(2, 2)
    .attrs(&[
        optional(INTS, "classlabels_ints"),
        optional(STRINGS, "classlabels_strings"),
        optional(FLOATS, "coefficients"),
        optional(FLOATS, "kernel_params"),
        default(STRING, "kernel_type", "\"LINEAR\""),
        default(STRING, "post_transform", "\"NONE\""),
        optional(FLOATS, "prob_a"),
        optional(FLOATS, "prob_b"),
        optional(FLOATS, "rho"),
        optional(FLOATS, "support_vectors"),
        optional(INTS, "vectors_per_class"),
    ])
    .infer(ml::svm_classifier)
    .doc("A support vector classifier.");

const SVM_REGRESSOR: Operator = Operator::new(DOMAIN, "SVMRegressor", 1)
    .attrs(&[
        optional(FLOATS, "coefficients"),
        optional(FLOATS, "kernel_params"),
        default(STRING, "kernel_type", "\"LINEAR\""),
        default(INT, "n_supports", "0"),
        default(INT, "one_class", "0"),
        default(STRING, "post_transform", "\"NONE\""),
        optional(FLOATS, "rho"),
        optional(FLOATS, "support_vectors"),
    ])
    .infer(ml::svm_regressor)
    .doc("A support vector regression.");

const SCALER: Operator = Operator::new(DOMAIN, "Scaler", 1)
    .attrs(&[optional(FLOATS, "offset"), optional(FLOATS, "scale")])
    .fusion(FusionKind::BROADCAST)
    .infer(ml::floats)
    .doc("Features shifted and scaled.");

const TREE_ENSEMBLE: Operator = Operator::new(DOMAIN, "TreeEnsemble", 5)
    .attrs(&[
        default(INT, "aggregate_function", "1"),
        required(INTS, "leaf_targetids"),
        required(TENSOR, "leaf_weights"),
        optional(TENSOR, "membership_values"),
        optional(INT, "n_targets"),
        required(INTS, "nodes_falseleafs"),
        required(INTS, "nodes_falsenodeids"),
        required(INTS, "nodes_featureids"),
        optional(TENSOR, "nodes_hitrates"),
        optional(INTS, "nodes_missing_value_tracks_true"),
        required(TENSOR, "nodes_modes"),
        required(TENSOR, "nodes_splits"),
        required(INTS, "nodes_trueleafs"),
        required(INTS, "nodes_truenodeids"),
        default(INT, "post_transform", "0"),
        required(INTS, "tree_roots"),
    ])
    .infer(ml::trees)
    .doc("An ensemble of trees.");

const TREE_ENSEMBLE_CLASSIFIER: Operator = Operator::new(DOMAIN, "TreeEnsembleClassifier", 5)
    .outputs(2, 2)
    .attrs(&[
        optional(FLOATS, "base_values"),
        optional(TENSOR, "base_values_as_tensor"),
        optional(INTS, "class_ids"),
        optional(INTS, "class_nodeids"),
        optional(INTS, "class_treeids"),
        optional(FLOATS, "class_weights"),
        optional(TENSOR, "class_weights_as_tensor"),
        optional(INTS, "classlabels_int64s"),
        optional(STRINGS, "classlabels_strings"),
        optional(INTS, "nodes_falsenodeids"),
        optional(INTS, "nodes_featureids"),
        optional(FLOATS, "nodes_hitrates"),
        optional(TENSOR, "nodes_hitrates_as_tensor"),
        optional(INTS, "nodes_missing_value_tracks_true"),
        optional(STRINGS, "nodes_modes"),
        optional(INTS, "nodes_nodeids"),
        optional(INTS, "nodes_treeids"),
        optional(INTS, "nodes_truenodeids"),
        optional(FLOATS, "nodes_values"),
        optional(TENSOR, "nodes_values_as_tensor"),
        default(STRING, "post_transform", "\"NONE\""),
    ])
    .infer(ml::tree_classifier)
    .doc("A classifier of trees.");

const TREE_ENSEMBLE_REGRESSOR: Operator = Operator::new(DOMAIN, "TreeEnsembleRegressor", 5)
    .attrs(&[
        default(STRING, "aggregate_function", "\"SUM\""),
        optional(FLOATS, "base_values"),
        optional(TENSOR, "base_values_as_tensor"),
        optional(INT, "n_targets"),
        optional(INTS, "nodes_falsenodeids"),
        optional(INTS, "nodes_featureids"),
        optional(FLOATS, "nodes_hitrates"),
        optional(TENSOR, "nodes_hitrates_as_tensor"),
        optional(INTS, "nodes_missing_value_tracks_true"),
        optional(STRINGS, "nodes_modes"),
        optional(INTS, "nodes_nodeids"),
        optional(INTS, "nodes_treeids"),
        optional(INTS, "nodes_truenodeids"),
        optional(FLOATS, "nodes_values"),
        optional(TENSOR, "nodes_values_as_tensor"),
        default(STRING, "post_transform", "\"NONE\""),
        optional(INTS, "target_ids"),
        optional(INTS, "target_nodeids"),
        optional(INTS, "target_treeids"),
        optional(FLOATS, "target_weights"),
        optional(TENSOR, "target_weights_as_tensor"),
    ])
    .infer(ml::tree_regressor)
    .doc("A regression of trees.");

const ZIP_MAP: Operator = Operator::new(DOMAIN, "ZipMap", 1)
    .attrs(&[optional(INTS, "classlabels_int64s"), optional(STRINGS, "classlabels_strings")])
    .infer(ml::zip_map)
    .doc("Rows turned into maps.");

relais_plugin_api::prelude::operators! { OPERATORS }
