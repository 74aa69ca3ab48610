#![cfg_attr(fuzzing, no_main)]

executorch_format_fuzz::target!(change_tree);
