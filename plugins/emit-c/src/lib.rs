//! Standalone C99 from loop programs.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `names`: names and types of C
//! 2. `arrays`: constants as arrays of C
//! 3. `facts`: the facts that decide how accesses are written
//! 4. `helpers`: the functions of C that say what C leaves open
//! 5. `program`: the program that is written, and what it refuses
//! 6. `globals`: everything outside the functions: constants, and names
//! 7. `lanes`: what is known of the vectors of a function
//! 8. `writer`: the state of writing one function, and its lines
//! 9. `body`: the statements of a loop program
//! 10. `driver`: programs that run the model: on npy files, and to measure the time
//! 11. `emit_c`: writes the loop programs of a module as standalone C99
//! 12. `expression`: scalar operations as expressions of C
//! 13. `vectors`: vectors: what is computed in lanes is a small loop over them, which compilers make vectors of

use relais_plugin_api::prelude::*;

mod arrays;
mod body;
mod driver;
pub mod emit_c;
mod expression;
mod facts;
mod globals;
mod helpers;
mod lanes;
mod names;
mod program;
mod vectors;
mod writer;

plugin! { description = "Standalone C99 from loop programs." }
