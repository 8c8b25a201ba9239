//! End-to-end tests of Relais.
