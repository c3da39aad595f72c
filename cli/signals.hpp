// What signals do to a run: nothing half-written stays behind.
#pragma once

namespace gradz::cli {

// SIGINT, SIGTERM and SIGHUP remove uncommitted temporaries and end the process by the same
// signal; SIGPIPE keeps its default; SIGBUS in a mapped file that shrank is survived.
void install_signal_handlers();

}  // namespace gradz::cli
