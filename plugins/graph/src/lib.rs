//! The graph passes shipped with Relais. One pass, one file, one name.
