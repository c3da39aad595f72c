#include "core/parallel.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace gradz {
namespace {

// Callers may have asked for FTZ/DAZ (-ffast-math in a host program): bytes must not know.
class ExactArithmetic {
public:
#if defined(__SSE2__)
    ExactArithmetic() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }  // all masked, nearest
    ~ExactArithmetic() { _mm_setcsr(saved_); }
#else
    ExactArithmetic() = default;
#endif
    ExactArithmetic(const ExactArithmetic&) = delete;
    ExactArithmetic& operator=(const ExactArithmetic&) = delete;

private:
    unsigned saved_ = 0;
};

template <class Call>
auto guarded(Call call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc&) { return Error{Errc::io, "out of memory", ""}; }
}

// Shared by all workers. Units wait in `ready_` until those before them were delivered.
class Loop {
public:
    Loop(OrderedWork& work, int threads) : work_(work), limit_(2 * static_cast<std::size_t>(threads) + 2) {}

    void worker() {
        const ExactArithmetic exact;
        while (auto slot = take()) {
            auto done = guarded([&] { return work_.work(*slot->unit); });
            finish(*slot, std::move(done));
        }
    }

    Result<Done> result() {
        if (failed_) return std::move(*error_);
        return Done{};
    }

private:
    struct Slot {
        std::uint64_t number;
        std::unique_ptr<WorkUnit> unit;
        std::unique_ptr<Error> error;
        bool ready = false;
    };

    std::unique_ptr<Slot> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || (!taking_ && open_.size() < limit_); });
        if (stop_) return nullptr;
        taking_ = true;  // a token instead of the lock: deliveries go on while a source reads
        std::unique_ptr<WorkUnit> spare;
        if (!spares_.empty()) spare = std::move(spares_.back()), spares_.pop_back();
        lock.unlock();
        auto unit = guarded([&] { return work_.take(std::move(spare)); });
        lock.lock();
        taking_ = false;
        auto slot = std::make_unique<Slot>();
        slot->number = next_++;
        if (unit && *unit) {
            slot->unit = std::move(*unit);
            open_.push_back(nullptr);
            changed_.notify_all();
            return slot;
        }
        stop_ = true;
        if (!unit) {
            slot->error = std::make_unique<Error>(std::move(unit.error()));
            slot->ready = true;
            open_.push_back(std::move(slot));
            deliver(lock);
        }
        changed_.notify_all();
        return nullptr;
    }

    void finish(Slot& done, Result<Done> result) {
        auto slot = std::make_unique<Slot>(std::move(done));
        if (!result) slot->error = std::make_unique<Error>(std::move(result.error()));
        slot->ready = true;
        std::unique_lock lock(mutex_);
        const std::size_t place = slot->number - first_;
        open_[place] = std::move(slot);
        deliver(lock);
    }

    // Whoever completes the front delivers all that is ready behind it.
    void deliver(std::unique_lock<std::mutex>& lock) {
        if (delivering_) return;
        delivering_ = true;
        while (!failed_ && !open_.empty() && open_.front() && open_.front()->ready) {
            auto slot = std::move(open_.front());
            if (!slot->error) {
                lock.unlock();
                auto done = guarded([&] { return work_.deliver(*slot->unit); });
                lock.lock();
                if (!done) slot->error = std::make_unique<Error>(std::move(done.error()));
            }
            open_.pop_front();
            ++first_;
            if (slot->error) {
                error_ = std::move(slot->error);
                failed_ = stop_ = true;
            } else {
                spares_.push_back(std::move(slot->unit));
            }
            changed_.notify_all();
        }
        delivering_ = false;
    }

    OrderedWork& work_;
    const std::size_t limit_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Slot>> open_;  // units [first_, next_); null while at work
    std::vector<std::unique_ptr<WorkUnit>> spares_;
    std::uint64_t first_ = 0, next_ = 0;
    std::unique_ptr<Error> error_;
    bool taking_ = false, delivering_ = false, stop_ = false, failed_ = false;
};

// Of cgroup v2 ("max 100000" or "200000 100000"), then v1; 0 where there is no quota.
int quota_threads() {
    std::string quota;
    double period = 0;
    if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2 >> quota >> period) {
        if (quota == "max") return 0;
    } else {
        std::ifstream q("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), p("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
        if (!(q >> quota) || !(p >> period)) return 0;
    }
    const double cpus = period > 0 ? static_cast<double>(std::atoll(quota.c_str())) / period : 0;
    return cpus > 0 ? std::max(1, static_cast<int>(std::ceil(cpus))) : 0;
}

}  // namespace

int available_threads() {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : omp_get_num_procs();
    const int quota = quota_threads();
    return std::max(1, quota > 0 ? std::min(quota, allowed) : allowed);
}

Result<Done> run_ordered(OrderedWork& work, int threads) {
    if (threads <= 0) threads = available_threads();
    Loop loop(work, threads);
#pragma omp parallel num_threads(threads)
    loop.worker();
    return loop.result();
}

}  // namespace gradz
