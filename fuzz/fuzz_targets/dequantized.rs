#![cfg_attr(fuzzing, no_main)]

executorch_format_fuzz::target!(dequantized);
