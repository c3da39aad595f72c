#include "kernels/dispatch.hpp"

#include <cstdlib>
#include <iterator>

namespace gradz::kernels {

namespace scalar {
extern const Kernels kKernels;
}
#ifdef GRADZ_X86_TARGETS
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif

namespace {

const Kernels* const kTargets[] = {
    &scalar::kKernels,
#ifdef GRADZ_X86_TARGETS
    &avx2::kKernels,
    &avx512::kKernels,
#endif
};

// Every feature that the flags of a target allow the compiler to use.
std::size_t count_runnable() {
#ifdef GRADZ_X86_TARGETS
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("fma")) return 1;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return 2;
#endif
    return std::size(kTargets);
}

}  // namespace

std::span<const Kernels* const> runnable() {
    static const std::size_t n = count_runnable();
    return {kTargets, n};
}

Result<const Kernels*> choose(std::string_view name) {
    if (name.empty()) return runnable().back();
    std::string known;
    for (const Kernels* k : runnable()) {
        if (k->target == name) return k;
        known += (known.empty() ? "" : ", ") + std::string(k->target);
    }
    return Error{Errc::invalid_argument, "target '" + std::string(name) + "' does not run here; these do: " + known,
                 "GRADZ_TARGET"};
}

Result<const Kernels*> active() {
    static const Result<const Kernels*> chosen = [] {
        const char* wanted = std::getenv("GRADZ_TARGET");
        return choose(wanted ? wanted : "");
    }();
    return chosen;
}

}  // namespace gradz::kernels
