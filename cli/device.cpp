#include "device.hpp"

#include <utility>

#include "command.hpp"

namespace gradz::cli {

void add_device_option(CLI::App& app, DeviceOptions& o) {
    app.add_option("--device", o.name, "where quantizers run; bytes are the same. auto: a CUDA device if there is one")
        ->type_name("DEVICE")
        ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
        ->group("Running");
}

Result<const Device*> open_device(DeviceOptions& o) {
    if (o.name == "cpu" || (o.name == "auto" && !built_with_cuda())) return &cpu_device();
    if (!built_with_cuda()) return Error{Errc::invalid_argument, "this gradz was built without CUDA", "--device cuda"};
    auto device = cuda_device();
    if (device) {
        o.opened = std::move(*device);
        return o.opened.get();
    }
    if (o.name == "cuda") return Error{Errc::unsupported, "no device: " + device.error().what, "--device cuda"};
    print_warning("--device auto", "the CPU is used: " + device.error().what);
    return &cpu_device();
}

}  // namespace gradz::cli
