//! Files: the header, the segments, and where everything's bytes are.
//!
//! [`header`] tells from the first bytes what a file is; [`pte`] and [`ptd`] are the two kinds, [`model`] is either;
//! [`segment`] and [`references`] say where bytes are and who refers to them; [`style`] and [`source`] what a tree does not
//! say about its file.

pub(crate) mod foreign;
pub(crate) mod header;
pub(crate) mod key_index;
pub(crate) mod model;
pub(crate) mod options;
pub(crate) mod ptd;
pub(crate) mod pte;
pub(crate) mod references;
pub(crate) mod segment;
pub(crate) mod source;
pub(crate) mod style;
