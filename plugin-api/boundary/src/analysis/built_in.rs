//! The host's own analyses.

use super::{Analysis, AnalysisCx, AnalysisObject, SubjectKind, SubjectRec};
use crate::record::{AnalysisSpec, Depends, ListSpec};
use relais_ir::{BlockTree, Function, Lists, Liveness, UseCounts, Users, diagnostics::PassError};

/// An analysis that the host has itself.
pub struct BuiltInAnalysis {
    /// Its record.
    pub spec: &'static AnalysisSpec,
    /// Computes it; `None` if it is of another unit.
    pub compute: fn(&SubjectRec<'_>) -> Option<AnalysisObject>,
}

/// The host's own analyses, by name.
pub const BUILT_IN: &[BuiltInAnalysis] = &[of::<BlockTree>(), of::<Liveness>(), of::<UseCounts>(), of::<Users>()];

/// An analysis of the structure of a function.
trait OfStructure: Analysis<Of = Function> {
    fn of_function(function: &Function) -> Self;
}

const fn of<A: OfStructure>() -> BuiltInAnalysis {
    BuiltInAnalysis {
        spec: A::SPEC,
        compute: |subject| {
            let result = A::of_function(subject.as_function()?);
            let lists = result.lists();
            Some(AnalysisObject::new(result, lists))
        },
    }
}

macro_rules! of_structure {
    ($ty:ident, $doc:literal, $($list:ident = $list_doc:literal),+ $(,)?) => {
        impl Analysis for $ty {
            type Of = Function;
            const SPEC: &'static AnalysisSpec = &AnalysisSpec {
                name: concat!("relais.", stringify!($ty)),
                doc: $doc,
                subject: SubjectKind::FUNCTION,
                depends: Depends::STRUCTURE,
                lists: &[$(ListSpec { name: stringify!($list), doc: $list_doc }),+],
            };

            fn compute(f: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
                Ok($ty::compute(f))
            }

            fn lists(&self) -> Lists {
                $ty::lists(self)
            }

            fn of_lists(lists: &Lists) -> Option<Self> {
                $ty::of_lists(lists)
            }
        }

        impl OfStructure for $ty {
            fn of_function(f: &Function) -> Self {
                $ty::compute(f)
            }
        }
    };
}

of_structure!(
    BlockTree,
    "The block of each node: the structured form of a dominator tree.",
    block = "by node: one more than the number of the block that contains it, or 0",
    parent = "by block: one more than the number of the block it is nested in, or 0",
    depth = "by block: how many blocks it is nested in",
);
of_structure!(
    Liveness,
    "The order of the bindings, and when each value is used last.",
    place = "by node: its place among all bindings in program order, from 1 on, or 0",
    last_use = "by node: the place of its last use, 4294967295 for the end of the function, or 0",
);
of_structure!(UseCounts, "How often each node is used.", counts = "by node: how often it is used");
of_structure!(
    Users,
    "The bindings that use each node.",
    starts = "by node, and one more: where its users begin in `users`",
    users = "the bindings, in program order, once for each use",
    is_result = "by node: 1 if it is a block's result, or 0",
);
