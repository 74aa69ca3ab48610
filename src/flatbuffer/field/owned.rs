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

    fn into_owned(self) -> Self::Owned {
        match self {
            Some(value) => Some(value.into_owned()),
            None => None,
        }
    }
}

impl<T: IntoOwned> IntoOwned for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        // Shorter to compile than to collect an iterator, which this type's count of tables makes worth it.
        let mut owned = Vec::with_capacity(self.len());
        for item in self {
            owned.push(item.into_owned());
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
