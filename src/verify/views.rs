//! The verdict on a file, and the views of it: findings, releases, and what a device lacks.

use super::releases::{self, Facts};
use super::{Finding, Fit, Level, NeededKernels, Needs, Release, Releases, Target, Verdict, target};
use crate::analysis::Analysis;
use crate::error::Error;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::model::Model;
use alloc::{vec, vec::Vec};

/// The findings in a file, with the verdict on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// The findings, also about the file together with its `.ptd` files.
    pub findings: Vec<Finding>,
    /// The verdict of the newest release with everything in its own libraries; `None` for an ETDump, and for a payload in a file
    /// of its own.
    pub verdict: Option<Verdict>,
    /// The kernels that the program needs from libraries other than the portable one, and the places of these libraries.
    pub kernels: Vec<NeededKernels>,
}

impl Check {
    /// Returns the check of a file that cannot be read.
    pub fn of_error(error: &Error) -> Self {
        let verdict = releases::releases_of_error(error).into_verdict();
        Self { findings: vec![error.into()], verdict, kernels: Vec::new() }
    }
}

impl Releases {
    /// Returns the verdict of the newest release; `None` if there are no verdicts.
    pub fn into_verdict(mut self) -> Option<Verdict> {
        self.releases.pop().map(|newest| newest.verdict)
    }
}

impl Analysis<'_> {
    /// Returns what ExecuTorch on a target does with the program: [`fit`](Self::fit) and [`releases`](Self::releases) are the same in
    /// more detail. Without [`.ptd` files](Self::with_data), the external data that the program needs is missing.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte, verify::{Outcome, Target}};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let analysis = Analysis::new(&pte);
    /// assert_eq!(analysis.verdict(&Target::default()).outcome, Outcome::Runs);
    /// let small = Target::default().with_arena(Some(16));
    /// assert_eq!(analysis.verdict(&small).outcome, Outcome::DoesNotFit);
    /// # Ok(())
    /// # }
    /// ```
    pub fn verdict(&self, target: &Target) -> Verdict {
        target::check(self, target).verdict
    }

    /// Returns the verdict with the needs of the program that the target does not meet, those that could not be checked, and all needs.
    pub fn fit(&self, target: &Target) -> Fit {
        Fit { needs: Needs::of(self, target), ..target::check(self, target) }
    }

    /// Returns the releases that load the program, and the verdict of each release with the target's kernels. Without a list of `.ptd`
    /// files, all external data is assumed to be present when the program is loaded. All backends are assumed to be present; payloads
    /// of backends other than XNNPACK are not checked.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte, verify::Target};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// // Constants inside the FlatBuffer, as ExecuTorch 0.2 wrote them.
    /// let file = std::fs::read("tests/data/0.2.1/add_mul_constant_inline/add_mul_constant_inline.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let releases = Analysis::new(&pte).releases(&Target::default());
    /// assert_eq!(releases.loads_in.to_string(), "0.2 to 1.2");
    /// for verdict in releases.releases {
    ///     println!("{verdict}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn releases(&self, target: &Target) -> Releases {
        releases::of_facts(&self.facts(target))
    }

    /// Returns the facts that the verdicts of all releases follow from.
    pub(super) fn facts<'f>(&'f self, target: &'f Target) -> Facts<'f> {
        Facts::new(self, self.strict(), target)
    }

    /// Returns the findings of the strict level in the program alone.
    pub(super) fn strict(&self) -> Vec<Finding> {
        let (findings, kept) = self.pte().verify_and_keep(self.payloads(), Level::Strict);
        self.keep(kept);
        findings
    }

    /// Checks the program at `level`, like [`Pte::verify`] and [`Pte::verify_with`] together, and returns the verdict as well.
    pub fn check(&self, level: Level) -> Check {
        let strict = self.strict();
        let mut findings = match level {
            Level::Structure => Vec::new(),
            Level::Runtime => self.pte().verify_opened(self.payloads(), Level::Runtime),
            Level::Strict => strict.clone(),
        };
        if level >= Level::Runtime {
            findings.extend(self.pte().verify_opened_with(self.payloads(), self.data().unwrap_or_default(), level));
        }
        let newest = Facts::new(self, strict, &Target::default()).verdict(Release::LATEST);
        Check { findings, verdict: Some(newest.verdict), kernels: newest.kernels }
    }
}

impl Model<'_> {
    /// Checks the file at `level`, a program together with its `.ptd` files, and returns the findings with the verdict.
    pub fn check(&self, level: Level, data: &[&Ptd<'_>]) -> Check {
        if let Self::Pte(pte) = self {
            return Analysis::new(pte).with_data(data.iter().copied()).check(level);
        }
        let mut findings = self.verify(level);
        if let Self::Bpte(bpte) = self {
            findings.extend(bpte.verify_with(data.iter().copied(), level));
        }
        let target = Target::default();
        let program = match self {
            Self::Bpte(bpte) => bpte.program().ok(),
            _ => None,
        };
        match program {
            Some(program) => {
                let analysis = Analysis::new(&program).with_data(data.iter().copied());
                let Fit { verdict, kernels, .. } = target::check(&analysis, &target);
                Check { findings, verdict: Some(verdict), kernels }
            }
            None => Check { findings, verdict: self.verdict(&target, data), kernels: Vec::new() },
        }
    }

    /// Returns what ExecuTorch on a target does with the file, or with the program in this bundle, like [`Analysis::verdict`]; `None`
    /// for an ETDump, and for a payload in a file of its own.
    pub fn verdict(&self, target: &Target, data: &[&Ptd<'_>]) -> Option<Verdict> {
        let of_program = |analysis: Analysis<'_>| analysis.verdict(target);
        match self {
            Self::Pte(pte) => Some(of_program(Analysis::new(pte).with_data(data.iter().copied()))),
            Self::Bpte(bpte) => match bpte.program() {
                Ok(program) => Some(of_program(Analysis::new(&program).with_data(data.iter().copied()))),
                Err(error) => releases::releases_of_error(&error).into_verdict(),
            },
            _ => self.releases(target, None).into_verdict(),
        }
    }

    /// Returns the releases that load this file, or the program in this bundle, and the verdict of each release, like
    /// [`Analysis::releases`]. There are no verdicts for an ETDump, or for a payload in a file of its own. Only the newest release was
    /// tested with `.ptd` files.
    pub fn releases(&self, target: &Target, data: Option<&[&Ptd<'_>]>) -> Releases {
        let of_program = |pte: &Pte<'_>| {
            let analysis = Analysis::new(pte);
            match data {
                Some(data) => analysis.with_data(data.iter().copied()).releases(target),
                None => analysis.releases(target),
            }
        };
        match self {
            Self::Pte(pte) => of_program(pte),
            Self::Ptd(ptd) => releases::of_ptd(ptd),
            Self::Bpte(bpte) => match bpte.program() {
                Ok(program) => of_program(&program),
                Err(error) => releases::releases_of_error(&error),
            },
            Self::Etdp(_) | Self::Xnnpack(_) => Releases::NONE,
        }
    }
}
