// --device: where quantizers run.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "pipeline/device.hpp"

namespace gradz::cli {

struct DeviceOptions {
    std::string name = "cpu";  // or cuda, auto
    std::unique_ptr<Device> opened;
};
void add_device_option(CLI::App& app, DeviceOptions& options);

// The device that is asked for, owned by `options`; prints a warning where auto falls back to the
// CPU although this build has CUDA. Errc::invalid_argument for cuda in a build without it,
// Errc::unsupported with CUDA's reason where no device can be used.
Result<const Device*> open_device(DeviceOptions& options);

}  // namespace gradz::cli
