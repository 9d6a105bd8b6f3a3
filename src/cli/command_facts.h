// What --help knows of the commands, as data: completions and manual pages are made of it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace puna::cli {

struct OptionFacts {
  std::vector<std::string> names;    // "-n", "--max-tokens"; of an argument: empty
  std::string argument;              // "MODEL": its name; empty: it is an option
  std::string type;                  // of its value, "INT"; empty: it takes none
  std::vector<std::string> choices;  // all that the value may be; empty: anything
  std::string initial;               // what holds where it is not given
  std::string about;
  bool required = false;
  bool repeats = false;
};

struct CommandFacts {
  std::string name, summary, example;
  std::vector<OptionFacts> options;  // arguments first
};

// Of the program whose parser this is, or that it belongs to; in the order of --help.
std::vector<CommandFacts> command_facts(const CLI::App& app);

}  // namespace puna::cli
