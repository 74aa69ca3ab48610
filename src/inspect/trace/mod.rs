//! Questions about a trace, and its summary.

pub(super) mod debug_values;
pub(super) mod delegate_events;
mod events;
pub(super) mod linked;
pub(super) mod numeric_gaps;
pub(super) mod profile;
mod run_pairs;
pub(super) mod timeline;
pub(super) mod times;

use super::summary::{Content, Summary};
use super::{Blobs, SizeReport, size};
use crate::analysis::Analysis;
use crate::error::Result;
use crate::file::etdp::Etdp;
use crate::file::header::FileKind;
use crate::schema::etdump::{Event, RunData};
use alloc::vec::Vec;
use debug_values::DebugValues;
use profile::Profile;
use timeline::TimelineEvent;

/// The contents of a `.etdp` file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TraceSummary<'t> {
    /// The blocks of events, in order.
    pub runs: Vec<TraceRun<'t>>,
}

/// A block of events: the loading of a method, or a run of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TraceRun<'t> {
    /// The name of the block: `Default` or `Execute`.
    pub name: &'t str,
    /// The test case that was loaded before; `None` if no test case was loaded.
    pub test_case: Option<i32>,
    /// The number of events that are timings.
    pub profile_events: usize,
    /// The number of events that are allocations.
    pub allocation_events: usize,
    /// The number of events that record values.
    pub debug_events: usize,
    /// The time from the first start to the last end, in ticks of the platform's clock.
    pub ticks: u64,
}

impl<'t> TraceRun<'t> {
    fn of(run: &'t RunData<'_>) -> Self {
        let count = |is: fn(&Event<'_>) -> bool| run.events().iter().filter(|event| is(event)).count();
        Self {
            name: run.name(),
            test_case: run.test_case(),
            profile_events: count(|event| event.profile_event.is_some()),
            allocation_events: count(|event| event.allocation_event.is_some()),
            debug_events: count(|event| event.debug_event.is_some()),
            ticks: run.ticks(),
        }
    }
}

impl Etdp<'_> {
    /// Returns a summary of the file.
    pub fn summary(&self) -> Summary<'_> {
        Summary {
            kind: FileKind::Etdp,
            identifier: FileKind::Etdp.identifier(),
            header: None,
            content: Content::Trace(TraceSummary { runs: self.etdump.run_data().iter().map(TraceRun::of).collect() }),
            errors: Vec::new(),
        }
    }

    /// Returns the blobs of the file. A trace has no blobs.
    pub fn blobs(&self) -> Blobs<'_> {
        Blobs::default()
    }

    /// Reports how the bytes of the file are used, like [`Analysis::size_report`](crate::Analysis::size_report).
    pub fn size_report(&self) -> Result<SizeReport<'_>> {
        size::of_etdp(self)
    }

    /// Returns the times of everything that was measured. If the `program` that ran is given, instructions are shown with their operators.
    /// An ETDump does not record which method ran: the method whose instructions fit the events is used. If several fit, `method` selects one.
    ///
    /// Times are in ticks of the platform's clock: nanoseconds with the clocks of Linux, macOS and Windows.
    pub fn profile<'t, 'p: 't>(&'t self, program: Option<&Analysis<'p>>, method: Option<&str>) -> Profile<'t> {
        profile::profile(self, program, method, 0)
    }

    /// Returns the times as [`profile`](Self::profile) does, without the first `warm_up` runs of each group: these also fill caches and, with
    /// dynamic shapes, allocate memory. Loading a method is always included.
    pub fn profile_after<'t, 'p: 't>(
        &'t self,
        warm_up: usize,
        program: Option<&Analysis<'p>>,
        method: Option<&str>,
    ) -> Profile<'t> {
        profile::profile(self, program, method, warm_up)
    }

    /// Returns every timing, in the file's order, with names as in [`profile`](Self::profile). The runtime records only durations for events
    /// inside a delegate; they are placed one after another from the start of the call.
    pub fn timeline<'t, 'p: 't>(&'t self, program: Option<&Analysis<'p>>, method: Option<&str>) -> Vec<TimelineEvent> {
        timeline::timeline(self, program, method)
    }

    /// Returns the values that runs recorded, with their bytes in the debug `buffer`, which is a file of its own. With the `program` that was run,
    /// they are values of a method, found as for [`profile`](Self::profile).
    ///
    /// ```
    /// use executorch_format::{Analysis, Etdp, Pte};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let [trace, buffer, program] = ["etdp", "debug.bin", "pte"]
    ///     .map(|ending| std::fs::read(format!("tests/data/payloads/profile_debug.{ending}")).unwrap());
    /// let (etdp, pte) = (Etdp::parse(&trace)?, Pte::parse(&program)?);
    /// let analysis = Analysis::new(&pte);
    /// let values = etdp.debug_values(Some(&buffer), Some(&analysis), None);
    /// let sum = &values.runs[0].values[0];
    /// assert_eq!(sum.title(), "aten::add.out");
    /// assert_eq!(sum.tensor.as_ref().unwrap().view()?.unwrap().to_f64()?[0], 0.8066936731338501);
    /// # Ok(())
    /// # }
    /// ```
    pub fn debug_values<'t, 'p: 't>(
        &'t self,
        buffer: Option<&'t [u8]>,
        program: Option<&Analysis<'p>>,
        method: Option<&str>,
    ) -> DebugValues<'t> {
        debug_values::debug_values(self, buffer, program, method)
    }
}
