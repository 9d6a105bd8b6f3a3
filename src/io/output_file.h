// Where a command's output goes: into a file that appears under its name once it is complete, or
// into a stream (FIFO, device, open descriptor). Whoever writes a file for the user goes through
// here, so a model and an array follow the same rules.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "io/byte_sink.h"

namespace puna::io {

struct OutputPlace {
  enum class Kind {
    kFile,        // a regular file, there already or not: written beside its name, then renamed
    kStream,      // a FIFO or a character device: written into
    kDescriptor,  // /dev/stdout, /dev/fd/3: written into where the process stands in it
  };
  std::string name;  // as given, for messages
  Kind kind = Kind::kFile;
  std::string path;        // symbolic links followed, those that lead nowhere yet too
  int descriptor = -1;     // of kDescriptor
  bool is_stdout = false;  // what a command prints would mix with it
};

// Looks at what is at `path` and changes nothing. Errors: kUsage for what is never written into (a
// folder, a socket, a block device) and for a path that leads to one of `inputs`, by whatever name;
// kIo when its folder is missing, or the file there is write-protected.
base::Result<OutputPlace> find_output(const std::string& path, std::span<const std::string> inputs);

// Opens it for writing. A file's bytes go to "<path>.<process>.part" and get its name in finish(),
// with the permissions of the file they replace; a sink given up removes them. They are not forced
// to the disk: after a power cut the command is run again. A FIFO is given a few seconds to find
// its reader. Errors: kIo; kUsage when it is a terminal.
base::Result<std::unique_ptr<ByteSink>> open_output(const OutputPlace& place);

}  // namespace puna::io
