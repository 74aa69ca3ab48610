//! Parts of tensors: `portable/cpu/util/{slice,select_copy,index,advanced_index,kernel_ops}_util.cpp`.

use super::super::arguments::View;
use super::super::call::Call;
use super::super::fault::{Checked, Fault, Reaction, demand, of_rank, of_setting, of_shape};
use super::super::sizes::{Size, product};
use crate::operators::Types;
use crate::operators::versions::V1_1;
use crate::schema::ScalarType;
use alloc::{format, vec::Vec};

/// The sizes that indices select, or `None` if they are known only when it runs.
type Selected = Option<Vec<Size>>;

impl Call<'_, '_> {
    /// Returns a dimension of `self` in the setting `dim`, and its size.
    fn dim_of_self(&self) -> Option<(View<'_>, usize, Size)> {
        let view = self.tensor("self")?;
        let dim = self.dimension("dim", view.rank())?;
        Some((view, dim, view.size(dim as i64).unwrap_or(Size::Is(1))))
    }

    /// Returns the number of items of a slice of a dimension.
    fn slice_length(&self, size: Size) -> Option<i64> {
        let Size::Is(size) = size else { return None };
        let value = |name: &str, default: i64| if self.is_null(name) { Some(default) } else { self.known(name) };
        let (start, end, step) = (value("start", 0)?, value("end", size)?, self.known("step")?);
        let clamp = |value: i64| if value < 0 { value.saturating_add(size).max(0) } else { value.min(size) };
        let (start, end) = (clamp(start), clamp(end));
        if step < 1 {
            return None;
        }
        Some(if start >= size || end <= 0 || start >= end { 0 } else { (end - 1 - start) / step + 1 })
    }

    pub(super) fn slice(&self) -> Checked {
        let Some((view, dim, size)) = self.dim_of_self() else { return Ok(()) };
        let mut expected = view.shape();
        if let Some(place) = expected.get_mut(dim) {
            *place = match self.slice_length(size) {
                Some(length) => Size::Is(length),
                None if view.is_open => Size::UpTo(size.bound().unwrap_or(i64::MAX)),
                None => Size::Any,
            };
        }
        if view.is_open {
            return demand(self.tensor("out").is_none_or(|out| out.rank() == expected.len()), || {
                of_rank("out", format!("out has another rank than self, {}", view.rank()))
            });
        }
        self.resize("out", &expected)
    }

    pub(super) fn slice_scatter(&self) -> Checked {
        let (Some((view, dim, size)), Some(source)) = (self.dim_of_self(), self.tensor("src")) else { return Ok(()) };
        let mut expected = view.shape();
        if let Some(place) = expected.get_mut(dim) {
            *place = self.slice_length(size).map_or(Size::Any, Size::Is);
        }
        let checked = self.has_sizes("src", source, &expected);
        if self.release.is_in(V1_1) || source.rank() != view.rank() {
            return checked;
        }
        // Earlier kernels did not look at the last dimension.
        let others = source.rank().saturating_sub(1);
        let is_seen = source.each().zip(&expected).take(others).any(|(size, expected)| !size.can_equal(*expected));
        checked.map_err(|fault| if is_seen { fault } else { fault.with(Reaction::Strays) })
    }

    pub(super) fn narrow(&self) -> Checked {
        let (Some((view, dim, size)), Some(start), Some(length)) =
            (self.dim_of_self(), self.known("start"), self.known("length"))
        else {
            return Ok(());
        };
        let most = size.bound().unwrap_or(i64::MAX);
        let first = if start < 0 { start.saturating_add(most) } else { start };
        demand(-most <= start && start <= most && first.saturating_add(length) <= most, || {
            of_setting("start", format!("start is {start}, and length {length}, but the dimension has size {most}"))
        })?;
        let mut expected = view.shape();
        if let Some(place) = expected.get_mut(dim) {
            *place = Size::Is(length);
        }
        self.resize("out", &expected)?;
        // The copy starts at the negative position itself.
        let reaction = if self.release.is_in(V1_1) { Reaction::Refuses(0x12) } else { Reaction::Strays };
        demand(start >= 0 || length == 0, || {
            of_setting("start", format!("start is {start}, expected at least 0 if length is not 0")).with(reaction)
        })
    }

    /// Returns the sizes without the selected dimension.
    fn selected(&self) -> Result<Selected, Fault> {
        let Some((view, dim, size)) = self.dim_of_self() else { return Ok(None) };
        if let (Some(index), Some(size)) = (self.known("index"), size.bound()) {
            demand(-size <= index && index < size, || {
                of_setting("index", format!("index is {index}, but the dimension has size {size}"))
            })?;
        }
        let mut expected = view.shape();
        if dim < expected.len() {
            expected.remove(dim);
        }
        Ok(Some(expected))
    }

    pub(super) fn select(&self) -> Checked {
        match self.selected()? {
            Some(expected) => self.resize("out", &expected),
            None => Ok(()),
        }
    }

    pub(super) fn select_scatter(&self) -> Checked {
        match (self.selected()?, self.tensor("src")) {
            (Some(expected), Some(source)) => self.has_sizes("src", source, &expected),
            _ => Ok(()),
        }
    }

    /// Checks that constant indices are in a dimension of this size. `wraps` if negative ones count from the end.
    fn indices_in(&self, name: &'static str, index: View<'_>, size: Size, wraps: bool) -> Checked {
        let Some(most) = size.bound().filter(|_| !index.is_open && !index.is_empty()) else { return Ok(()) };
        demand(most > 0, || {
            of_shape(name, format!("{name} has elements, but the dimension that is indexed has none"))
        })?;
        let Some((low, high)) = self.constants.range(index) else { return Ok(()) };
        let least = if wraps { -most } else { 0 };
        demand(least <= low && high < most, || {
            let found = if low < least { low } else { high };
            of_setting(name, format!("{name} contains {found}, but the dimension has size {size}"))
        })
    }

    /// Checks a piece that is copied to a place of a list.
    pub(super) fn copy_index(&self) -> Checked {
        let (Some(list), Some(piece)) = (self.tensor("copy_to"), self.tensor("copy_from")) else { return Ok(()) };
        let index = self.int("index").unwrap_or(Size::Any);
        // `copy-index` reports an end outside of the list.
        let (room, piece_size) = (list.tensor.byte_size().ok(), piece.tensor.byte_size().ok());
        let end = index.bound().and_then(|index| piece_size?.checked_mul(u64::try_from(index.max(0)).ok()? + 1));
        if end > room {
            return Ok(());
        }
        demand(!matches!(index, Size::Is(..0)), || {
            of_setting("index", format!("index is {index}, expected at least 0"))
        })?;
        demand(list.rank() == piece.rank() + 1, || {
            of_rank(
                "copy_to",
                format!("copy_to has rank {}, expected {}, one more than copy_from", list.rank(), piece.rank() + 1),
            )
        })?;
        let (own, mut expected) = (list.shape(), piece.shape());
        demand(own.iter().skip(1).zip(&expected).all(|(size, expected)| size.can_equal(*expected)), || {
            of_shape(
                "copy_from",
                format!("copy_from has sizes {}, expected those of a piece of copy_to, {}", piece.text(), list.text()),
            )
        })?;
        let Size::Is(index) = index else { return Ok(()) };
        expected.insert(0, Size::Is(index.saturating_add(1)));
        self.resize("copy_to", &expected).map_err(|fault| fault.with(Reaction::Refuses(0x2)))
    }

    /// Checks the sizes of `index`, and those of a source that is scattered.
    pub(super) fn gather(&self, source: Option<&'static str>) -> Checked {
        let (Some(view), Some(index), Some(dim)) = (self.tensor("self"), self.tensor("index"), self.known("dim"))
        else {
            return Ok(());
        };
        if index.is_open || view.is_open {
            return Ok(());
        }
        let rank = view.rank().max(1);
        if !index.is_empty() {
            demand(index.rank().max(1) == rank, || {
                of_rank("index", format!("index has rank {}, expected {} as self", index.rank(), view.rank()))
            })?;
        } else if source.is_some() {
            return Ok(());
        }
        let dim = if dim < 0 { dim + rank as i64 } else { dim };
        let size = |view: View<'_>, at: usize| view.sizes.get(at).copied().unwrap_or(1);
        let sources = source.and_then(|source| Some((source, self.tensor(source)?)));
        if let Some((name, values)) = sources {
            demand(values.rank().max(1) == rank, || {
                of_rank(name, format!("{name} has rank {}, expected {} as self", values.rank(), view.rank()))
            })?;
        }
        for at in 0..rank {
            let own = size(index, at);
            if let Some((name, values)) = sources.filter(|(_, values)| !values.is_open) {
                demand(own <= size(values, at), || {
                    of_shape(
                        "index",
                        format!(
                            "index has sizes {}, expected at most those of {name}, {}",
                            index.text(),
                            values.text()
                        ),
                    )
                })?;
            }
            demand(at as i64 == dim || own <= size(view, at), || {
                of_shape(
                    "index",
                    format!(
                        "index has sizes {}, expected at most those of self, {} (dimension {at})",
                        index.text(),
                        view.text()
                    ),
                )
            })?;
        }
        let indexed = usize::try_from(dim).ok().filter(|dim| *dim < rank);
        match indexed {
            Some(dim) => self.indices_in("index", index, Size::Is(i64::from(size(view, dim))), false),
            None => Ok(()),
        }
    }

    pub(super) fn index_select(&self) -> Checked {
        let (Some((view, dim, size)), Some(index)) = (self.dim_of_self(), self.tensor("index")) else { return Ok(()) };
        self.indices_in("index", index, size, false)?;
        if index.rank() > 0 && view.rank() == 0 {
            demand(index.elements().can_equal(Size::Is(1)), || {
                of_shape("index", format!("index has sizes {}, expected 1 element", index.text()))
            })?;
        }
        let mut expected = view.shape();
        if let Some(place) = expected.get_mut(dim) {
            *place = index.elements();
        }
        self.resize("out", &expected)
    }

    /// Returns the sizes of what indices select.
    fn indexed(&self) -> Result<Selected, Fault> {
        let Some(input) = self.tensor("self") else { return Ok(None) };
        let items: Vec<_> = self.views("indices").collect();
        demand(items.len() <= input.rank(), || {
            of_setting("indices", format!("indices has {} items, but self has rank {}", items.len(), input.rank()))
        })?;
        let is_mask = |view: &View<'_>| matches!(view.scalar_type, ScalarType::BOOL | ScalarType::BYTE);
        let (mut at, mut blocks, mut inside, mut start) = (0, 0, false, 0);
        let mut joined: Vec<Size> = Vec::new();
        let mut kept_between = Vec::new();
        for item in &items {
            let Some(index) = item else {
                start += usize::from(blocks == 0);
                kept_between.push(input.size(at as i64).unwrap_or(Size::Any));
                inside = false;
                at += 1;
                continue;
            };
            blocks += usize::from(!inside);
            inside = true;
            if is_mask(index) {
                demand(index.rank() > 0, || of_rank("indices", "indices contains a mask of rank 0".into()))?;
                for (dim, size) in index.shape().iter().enumerate() {
                    let Some(own) = input.size((at + dim) as i64) else {
                        return Err(of_rank(
                            "indices",
                            format!("indices has more dimensions than self, {}", input.rank()),
                        ));
                    };
                    demand(size.can_equal(own), || {
                        of_shape(
                            "indices",
                            format!("a mask has size {size} for dimension {} of self with size {own}", at + dim),
                        )
                    })?;
                }
                joined = self.both("indices", &joined, &[Size::Any], *index)?;
                at += index.rank();
            } else {
                joined = self.both("indices", &joined, &index.shape(), *index)?;
                at += 1;
            }
        }
        demand(at <= input.rank(), || {
            of_setting("indices", format!("indices selects {at} dimensions, but self has rank {}", input.rank()))
        })?;
        let shape = input.shape();
        let rest = shape.get(at..).unwrap_or_default();
        let (before, after) = if blocks == 1 {
            kept_between.split_at(start.min(kept_between.len()))
        } else {
            (&[][..], kept_between.as_slice())
        };
        Ok(Some([before, joined.as_slice(), after, rest].concat()))
    }

    pub(super) fn index(&self) -> Checked {
        self.indices_in_self(self.release.is_in(V1_1))?;
        match self.indexed()? {
            Some(expected) => self.resize("out", &expected),
            None => Ok(()),
        }
    }

    pub(super) fn index_put(&self) -> Checked {
        // Without elements, the kernel does not look at indices.
        if self.tensor("self").is_some_and(|view| !view.is_open && !view.is_empty()) {
            self.indices_in_self(true)?;
        }
        match (self.indexed()?, self.tensor("values")) {
            (Some(expected), Some(values)) => self.broadcast_to("values", values, "the indexed part", &expected),
            _ => Ok(()),
        }
    }

    pub(super) fn index_put_in_place(&self) -> Checked {
        let (Some(input), Some(values)) = (self.tensor("self"), self.tensor("values")) else { return Ok(()) };
        let items: Vec<_> = self.views("indices").collect();
        demand(items.len() <= input.rank(), || {
            of_setting("indices", format!("indices has {} items, but self has rank {}", items.len(), input.rank()))
        })?;
        let mut present = items.iter().enumerate().filter_map(|(at, item)| Some((at, (*item)?)));
        let (Some((at, index)), None) = (present.next(), present.next()) else {
            return Err(of_setting("indices", "indices contains none or several tensors, expected one".into()));
        };
        demand(index.rank() == 1, || {
            of_rank("indices", format!("indices contains a tensor of rank {}, expected 1", index.rank()))
        })?;
        self.indices_in_self(false)?;
        let mut expected = input.shape();
        if let (Some(place), Some(size)) = (expected.get_mut(at), index.size(0)) {
            *place = size;
        }
        self.has_sizes("values", values, &expected)
    }

    /// Checks constant indices. `wraps` if negative ones of a single index of rank 1 count from the end: the kernels have code of its own for it.
    /// They compare all others only if there is anything to index.
    fn indices_in_self(&self, wraps: bool) -> Checked {
        let Some(input) = self.tensor("self") else { return Ok(()) };
        let items = self.views("indices").enumerate();
        let items: Vec<(usize, View<'_>)> = items.filter_map(|(at, item)| Some((at, item?))).collect();
        let is_index = |view: &View<'_>| Types::INDEX.contains(view.scalar_type);
        let is_single = matches!(items.as_slice(), [(_, index)] if index.rank() == 1 && is_index(index));
        let is_full = |view: &View<'_>| !view.is_open && !view.is_empty();
        // A mask stands for as many dimensions as it has.
        let are_read = is_full(&input) && items.iter().all(|(_, view)| is_index(view) && is_full(view));
        if !is_single && !are_read {
            return Ok(());
        }
        items.iter().try_for_each(|(at, index)| {
            self.indices_in("indices", *index, input.size(*at as i64).unwrap_or(Size::Any), wraps || !is_single)
        })
    }

    /// Checks that a result whose rows are found when it runs has no more than there can be.
    fn at_most(&self, most: Size) -> Checked {
        let Some(out) = self.tensor("out").filter(|out| !out.is_dynamic) else { return Ok(()) };
        let (Some(Size::Is(rows)), Some(most)) = (out.size(0), most.bound()) else { return Ok(()) };
        demand(rows <= most, || {
            of_shape("out", format!("out has sizes {}, but at most {most} elements are found", out.text()))
        })
    }

    pub(super) fn nonzero(&self) -> Checked {
        let (Some(input), Some(out)) = (self.tensor("self"), self.tensor("out")) else { return Ok(()) };
        self.at_most(input.elements())?;
        match out.size(1).filter(|_| !out.is_dynamic) {
            Some(Size::Is(columns)) => demand(columns == input.rank() as i64, || {
                of_shape("out", format!("out has sizes {}, but self has rank {}", out.text(), input.rank()))
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn masked_select(&self) -> Checked {
        match self.broadcast(&["self", "mask"])? {
            Some(sizes) => self.at_most(product(&sizes)),
            None => Ok(()),
        }
    }

    pub(super) fn embedding(&self) -> Checked {
        let (Some(indices), Some(width)) = (self.tensor("indices"), self.size("weight", 1)) else { return Ok(()) };
        let mut expected = indices.shape();
        expected.push(width);
        self.resize("out", &expected)?;
        self.indices_in("indices", indices, self.size("weight", 0).unwrap_or(Size::Any), false)
    }

    pub(super) fn quantized_embedding(&self, bits: i64) -> Checked {
        let (Some(weight), Some(scales), Some(indices)) =
            (self.tensor("weight"), self.tensor("weight_scales"), self.tensor("indices"))
        else {
            return Ok(());
        };
        let width = weight.size(1).unwrap_or(Size::Any).map(|size| size.saturating_mul(8 / bits));
        let mut expected = indices.shape();
        expected.push(width);
        self.resize("out", &expected)?;
        let (rows, own) = (weight.size(0).unwrap_or(Size::Any), scales.size(0).unwrap_or(Size::Any));
        demand(own.can_equal(rows), || {
            of_shape(
                "weight_scales",
                format!("weight_scales has sizes {}, expected {rows} rows as weight", scales.text()),
            )
        })?;
        if let (Some(Size::Is(groups)), Size::Is(width)) = (scales.size(1), width) {
            demand(groups != 0 && width % groups == 0, || {
                of_shape("weight_scales", format!("weight_scales has {groups} groups, expected a divisor of {width}"))
            })?;
        }
        if let Some(points) = self.tensor("weight_zero_points") {
            self.has_sizes("weight_zero_points", points, &scales.shape())?;
        }
        // Kernels of packed weights do not look at indices.
        let reaction = if bits == 8 { Reaction::Dies } else { Reaction::Strays };
        self.indices_in("indices", indices, rows, false).map_err(|fault| fault.with(reaction))
    }
}
