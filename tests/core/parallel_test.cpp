// lib/core/parallel.cpp: order, errors, bounds; for any number of threads.
#include "core/parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <vector>

using namespace gradz;

namespace {

struct Number : WorkUnit {
    int value = 0;
};

struct Squares : OrderedWork {
    int count, fail_take = -1, fail_work = -1, fail_deliver = -1, throw_work = -1;
    int next = 0, made = 0;
    std::atomic<int> open{0};
    int most_open = 0;
    std::vector<int> out;

    explicit Squares(int n) : count(n) {}

    Result<std::unique_ptr<WorkUnit>> take(std::unique_ptr<WorkUnit> spare) override {
        if (next == fail_take) return Error{Errc::io, "take", ""};
        if (next == count) return std::unique_ptr<WorkUnit>{};
        if (!spare) spare = std::make_unique<Number>(), ++made;
        static_cast<Number&>(*spare).value = next++;
        most_open = std::max(most_open, ++open);
        return spare;
    }
    Result<Done> work(WorkUnit& unit) override {
        int& v = static_cast<Number&>(unit).value;
        if (v == fail_work) return Error{Errc::corrupt, "work", ""};
        if (v == throw_work) throw std::bad_alloc();
        if (v % 7 == 0) std::this_thread::yield();
        v *= v;
        return Done{};
    }
    Result<Done> deliver(WorkUnit& unit) override {
        --open;
        const int v = static_cast<Number&>(unit).value;
        if (fail_deliver >= 0 && v == fail_deliver * fail_deliver) return Error{Errc::io, "deliver", ""};
        out.push_back(v);
        return Done{};
    }
};

}  // namespace

TEST_CASE("units come out in order, and few exist at once") {
    for (int threads : {1, 2, 3, 7, 16}) {
        CAPTURE(threads);
        Squares work(1000);
        REQUIRE(run_ordered(work, threads));
        REQUIRE(work.out.size() == 1000);
        for (int i = 0; i < 1000; ++i) CHECK(work.out[static_cast<std::size_t>(i)] == i * i);
        CHECK(work.most_open <= 2 * threads + 2);
        CHECK(work.made <= 2 * threads + 2);
    }
    Squares none(0);
    CHECK(run_ordered(none, 4));
}

TEST_CASE("the earliest error wins, and nothing is delivered after it") {
    for (int threads : {1, 2, 7})
        for (int round = 0; round < 20; ++round) {
            Squares work(100);
            work.fail_work = 40, work.fail_take = 60;
            auto done = run_ordered(work, threads);
            REQUIRE_FALSE(done);
            CHECK(done.error().what == "work");
            CHECK(work.out.size() == 40);
            Squares take(100);
            take.fail_take = 30, take.fail_work = 35;
            CHECK(run_ordered(take, threads).error().what == "take");
            CHECK(take.out.size() == 30);
            Squares deliver(100);
            deliver.fail_deliver = 20, deliver.fail_work = 25;
            CHECK(run_ordered(deliver, threads).error().what == "deliver");
            CHECK(deliver.out.size() == 20);
            Squares memory(100);
            memory.throw_work = 10;
            CHECK(run_ordered(memory, threads).error().what == "out of memory");
        }
}

TEST_CASE("threads that are allowed") { CHECK(available_threads() >= 1); }
