// The one parallel loop: work is taken in order, done by many, and delivered in order, so
// that results never depend on the number of threads, and memory is bounded.
#pragma once

#include <functional>
#include <memory>

#include "core/error.hpp"

namespace gradz {

// One unit of work, made by Ordered::take and owned by one worker until it is delivered.
class WorkUnit {
public:
    virtual ~WorkUnit() = default;
};

// What the loop calls. Errors end the loop: the one of the earliest unit is returned, and
// nothing is delivered after it.
class OrderedWork {
public:
    virtual ~OrderedWork() = default;

    // The next unit in order, or null at the end. One call at a time, so that forward-only
    // sources are read here. `spare` is a unit that was delivered, for its buffers, or null.
    virtual Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) = 0;

    // In parallel, any order.
    virtual Result<Done> work(WorkUnit& unit) = 0;

    // In the order of take(), one call at a time, from whichever worker is there.
    virtual Result<Done> deliver(WorkUnit& unit) = 0;
};

// threads: 0 is all that affinity and cgroup allow. At most 2 x threads + 2 units exist.
// std::bad_alloc in any call becomes Errc::io "out of memory". Every worker runs with MXCSR
// at round-to-nearest without FTZ and DAZ; the caller's is restored.
Result<Done> run_ordered(OrderedWork& work, int threads);

// How many threads 0 stands for: sched_getaffinity, cut by a cgroup v1/v2 CPU quota.
int available_threads();

}  // namespace gradz
