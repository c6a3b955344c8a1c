// Watches, through MPI's profiling interface, how many elements this program hands to MPI at once.
#pragma once

/// The largest count of a message or reduction since the last call of this. Control messages, which
/// are bytes, do not count.
int largest_message();
