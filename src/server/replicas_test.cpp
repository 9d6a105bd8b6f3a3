// A model on two devices, one of which is lost.
#include <doctest/doctest.h>

#include "server/testing/fixture.h"

namespace puna::server {
namespace {

using service::HostThread;
using service::test::fake_model;
using test::Client;
using test::post;
using test::quick;
using test::stream_of;
using test::wait_until;

class TwoDevices {
 public:
  TwoDevices()
      : first_(std::move(fake_model({.context = 1 << 17,
                                     .n_pages = 1 << 12,
                                     .at_once = true,
                                     .fails =
                                         [this] {
                                           const std::lock_guard pass(gate);
                                           return lost.load();
                                         },
                                     .error = base::ErrorCode::kDeviceLost})
                             .model)),
        second_(
            std::move(fake_model({.context = 1 << 17, .n_pages = 1 << 12, .at_once = true}).model)),
        models_(served(first_, second_)),
        server_(std::move(*Server::listen(quick(), test::kTestRoutes))) {
    server_->serve(models_);
  }
  ~TwoDevices() { server_->stop(); }

  Client client() const { return Client(server_->addresses().at(0).port); }
  HostThread& first() { return first_; }

  std::mutex gate;  // of the first device's steps
  std::atomic<bool> lost = false;

 private:
  static api::ServedModel served(HostThread& first, HostThread& second) {
    api::ServedModel out;
    out.id = "fake";
    out.aliases = {"fake"};
    out.n_texts = 16;
    out.hosts = std::make_shared<service::Hosts>(std::vector<service::Host*>{&first, &second});
    return out;
  }

  HostThread first_, second_;
  api::OneModel models_;
  std::unique_ptr<Server> server_;
};

TEST_CASE("with a device lost a text that has brought nothing begins again on another") {
  TwoDevices at;
  Client client = at.client();
  {
    const std::lock_guard closed(at.gate);
    client.say(post("/write", R"({"prompt":9,"n_tokens":20,"stream":1})"));
    wait_until([&] {
      const auto status = at.first().status();
      return status.n_running + status.n_waiting == 1;
    });
    at.lost = true;
  }
  CHECK(client.read().body == stream_of(9, 1, 20));
  CHECK(at.first().status().device_lost);
  // Nobody else is given to it.
  for (uint32_t i = 0; i < 4; ++i)
    CHECK(client.ask(post("/write", R"({"prompt":9,"n_tokens":20,"stream":1})")).body ==
          stream_of(9, 1, 20));
}

TEST_CASE("with a device lost a text that has begun is told, and the other device goes on") {
  TwoDevices at;
  Client told = at.client(), other = at.client();
  const auto long_text = post("/write", R"({"stream":1,"n_tokens":20000,"pad":1000})");
  told.say(long_text);
  CHECK(told.read_head().status == 200);
  told.read_chunk();
  other.say(long_text);
  CHECK(other.read_head().status == 200);
  other.read_chunk();
  at.lost = true;
  CHECK_FALSE(told.until("failed: ").empty());
  CHECK_FALSE(other.until("(20000)").empty());
}

}  // namespace
}  // namespace puna::server
