// The host whose engine has a thread to itself. It sleeps while there is nothing to do, or the
// readers of all texts are behind; while the device is at work it waits for the device.
#pragma once

#include <mutex>
#include <span>
#include <thread>

#include "service/host.h"

namespace puna::service {

class HostThread final : public Host {
 public:
  explicit HostThread(LoadedModel model, HostOptions options = {});
  ~HostThread() override;

  // Returns when all has ended; for any thread but the engine's.
  void stop() override;

 private:
  void run();

  std::mutex join_mutex_;
  std::thread thread_;
};

// Has the files of requests encoded (request_media.h), and waits for it. Errors: those of reading
// and encoding them; kCancelled after drain() or stop().
base::Result<void> encode_media(HostThread& host, std::span<Request> requests);

// Posts a request and reads the answer to its end; on_event (may be null) is called here. Errors:
// those of post() and of the answer.
base::Result<Reply> run(HostThread& host, Prepared prepared, const OnEvent& on_event);
// Encodes its files and prepares it before. Errors: those of encode_media() and prepare() too.
base::Result<Reply> run(HostThread& host, Request request, const OnEvent& on_event);

}  // namespace puna::service
