//! JSON Schemas (feature `schemars`) for types that implement `serde::Serialize` by hand. All other types derive them.

/// Implements [`schemars::JsonSchema`] with an inline schema.
macro_rules! json_schema {
    ($name:ident $(<$lt:lifetime>)? $(<$parameter:ident>)?, |$generator:pat_param| $schema:expr) => {
        #[cfg(feature = "schemars")]
        impl $(<$lt>)? $(<$parameter: schemars::JsonSchema>)? schemars::JsonSchema for $name $(<$lt>)? $(<$parameter>)? {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(crate) use json_schema;

/// Implements [`schemars::JsonSchema`] for a type that is serialized as a string.
macro_rules! json_schema_of_text {
    ($name:ident $(<$lt:lifetime>)?) => {
        $crate::json_schema::json_schema!($name $(<$lt>)?, |_| schemars::json_schema!({"type": "string"}));
    };
}
pub(crate) use json_schema_of_text;
