// Downloads: models that are fetched in the background, each by a thread of its own. What a name
// means and where its bytes go is the store's matter.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/model_source.h"
#include "base/result.h"

namespace puna::manager {

class Downloads {
 public:
  using OnFile = std::function<void(const std::string& file, api::FileProgress progress)>;
  // Fetches a model, saying how far each of its files is. Errors: also kCancelled.
  using Pull = std::function<base::Result<void>(const std::string& stored_as, const OnFile& on_file,
                                                const std::atomic<bool>& cancelled)>;
  struct Download {
    std::string name;  // that it was asked for by
    api::FilesProgress files{};
  };
  // Of progress, a few times a second at most; of how a download ended, once, when it is listed no
  // more. On the thread of the download.
  struct Told {
    std::function<void(const Download&)> progress;
    std::function<void(const std::string& name, const base::Result<void>& done)> ended;
  };

  // At once; each has several connections and a file open.
  static constexpr size_t kMost = 8;

  Downloads(Pull pull, Told told);
  ~Downloads();  // stop()
  Downloads(const Downloads&) = delete;
  Downloads& operator=(const Downloads&) = delete;

  // Errors: kUnsupported where nothing can be fetched; kInvalidArgument for one that is on its way;
  // kOutOfMemory where there are kMost.
  base::Result<void> start(std::string_view name, std::string stored_as);
  // False: nothing of that name is on its way.
  bool cancel(std::string_view name);
  std::vector<Download> list() const;  // in the order in which they were asked for
  // Ends those under way and waits for them; nothing starts afterwards.
  void stop();

 private:
  struct Running {
    Download download;
    std::atomic<bool> cancelled = false;
    bool over = false;
    std::thread thread{};
  };
  Running* find(std::string_view name);
  static void join(std::list<Running>& over);
  void run(Running& running, const std::string& stored_as);

  const Pull pull_;
  const Told told_;
  mutable std::mutex mutex_;  // of what follows
  std::list<Running> running_;
  bool stopped_ = false;
};

}  // namespace puna::manager
