//! Whole behaviours, through the library and the embedded component.

mod smoke;
