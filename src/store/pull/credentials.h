// What identifies this user to a host, where other programs keep it: a token of Hugging Face, and
// what `docker login` stores. Nothing is ever sent to another host than the one it is for.
#pragma once

#include <string>

namespace puna::store {

// HF_TOKEN, else the file that Hugging Face's own login writes. Empty when there is none.
std::string hugging_face_token();

// User and password in base64, as Basic authorization has them, for a registry; of
// $DOCKER_CONFIG/config.json, else ~/.docker/config.json. Empty when there is none.
std::string docker_login(const std::string& host);

}  // namespace puna::store
