// What signals do to a run: nothing half-written stays behind.
#pragma once

namespace gradz::cli {

// Descriptors 0 to 2 that are closed lead to /dev/null, in the direction that cannot be used:
// else the next file would get their number, and messages would end up in it.
void open_standard_descriptors();

// Signals that end a process remove uncommitted temporaries first, and then do; SIGBUS in a mapped file that shrank is
// survived.
void install_signal_handlers();

}  // namespace gradz::cli
