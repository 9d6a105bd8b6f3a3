// puna devices: what this machine offers, and which device `auto` takes.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "cli/model_flags.h"
