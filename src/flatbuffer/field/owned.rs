//! Owned copies.

use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, borrow::ToOwned, boxed::Box, vec::Vec};

/// Makes an owned copy of a value that borrows from the input.
pub(crate) trait IntoOwned {
    type Owned: 'static;

    fn into_owned(self) -> Self::Owned;
}

impl IntoOwned for Text<'_> {
    type Owned = Text<'static>;

    fn into_owned(self) -> Self::Owned {
        self.into_owned()
    }
}

impl<T: IntoOwned> IntoOwned for Option<T> {
    type Owned = Option<T::Owned>;

    // There is one of these for each type of field: without `map`, half as much is compiled.
    #[allow(clippy::manual_map)]
    fn into_owned(self) -> Self::Owned {
        match self {
            Some(value) => Some(value.into_owned()),
            None => None,
        }
    }
}

impl<T: IntoOwned + Default> IntoOwned for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn into_owned(mut self) -> Self::Owned {
        // There is one of these for each type of table: a tenth of what collecting an iterator compiles to.
        let mut owned = Vec::with_capacity(self.len());
        for item in &mut self {
            owned.push(core::mem::take(item).into_owned());
        }
        owned
    }
}

impl<T: IntoOwned> IntoOwned for Box<T> {
    type Owned = Box<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        Box::new((*self).into_owned())
    }
}

impl<T: ?Sized + ToOwned + 'static> IntoOwned for Cow<'_, T> {
    type Owned = Cow<'static, T>;

    fn into_owned(self) -> Cow<'static, T> {
        Cow::Owned(Cow::into_owned(self))
    }
}
