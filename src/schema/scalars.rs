//! Numbers, strings and lists of them: tables that the schemas of programs, bundled programs, ETDumps and Vulkan payloads each declare,
//! with the same fields.

use crate::flatbuffer::macros::table;
use crate::flatbuffer::text::Text;
use alloc::borrow::Cow;

table! {
    /// Python's `None`.
    #[derive(Copy, Eq)]
    pub struct Null {}
}

table! {
    /// An integer.
    #[derive(Copy, Eq)]
    pub struct Int {
        /// The number.
        pub int_val: i64,
    }
}

table! {
    /// A boolean.
    #[derive(Copy, Eq)]
    pub struct Bool {
        /// The value.
        pub bool_val: bool,
    }
}

table! {
    /// A 64-bit float.
    #[derive(Copy)]
    pub struct Double {
        /// The number.
        pub double_val: f64,
    }
}

table! {
    /// A string.
    pub struct String<'a> {
        /// The text.
        pub string_val: Option<Text<'a>>,
    }
}

table! {
    /// A list of integers.
    pub struct IntList<'a> {
        /// The numbers. In a program: indices into the method's `values`, each an `Int`.
        pub items: Option<Cow<'a, [i64]>>,
    }
}

table! {
    /// A list of floats.
    pub struct DoubleList<'a> {
        /// The numbers.
        pub items: Option<Cow<'a, [f64]>>,
    }
}

table! {
    /// A list of booleans.
    pub struct BoolList<'a> {
        /// The booleans.
        pub items: Option<Cow<'a, [bool]>>,
    }
}
