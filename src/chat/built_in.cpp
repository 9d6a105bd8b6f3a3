#include "chat/built_in.h"

#include <algorithm>

namespace puna::chat {
namespace {

// Before the first user message of families that have no place for a system's.
#define PUNA_SYSTEM_FIRST                                                                 \
  "{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}" \
  "{% set ns.system = m.content + '\\n\\n' %}{% elif m.role == 'user' %}"
#define PUNA_SYSTEM_DONE "{% set ns.system = '' %}"

constexpr BuiltInTemplate kTemplates[] = {
    {"chatml",
     "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + "
     "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
     "}}{% endif %}"},
    {"command-r",
     "{% set roles = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT'} %}"
     "{% for m in messages %}{{ '<|START_OF_TURN_TOKEN|><|' + roles.get(m.role, 'SYSTEM') + "
     "'_TOKEN|>' + m.content | trim + '<|END_OF_TURN_TOKEN|>' }}{% endfor %}"
     "{% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}"},
    {"deepseek",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
     "{% elif m.role == 'user' %}{{ '### Instruction:\\n' + m.content + '\\n' }}"
     "{% else %}{{ '### Response:\\n' + m.content + '\\n<|EOT|>\\n' }}{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}{{ '### Response:\\n' }}{% endif %}"},
    {"deepseek2",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}"
     "{% elif m.role == 'user' %}{{ 'User: ' + m.content + '\\n\\n' }}"
     "{% else %}{{ 'Assistant: ' + m.content + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}Assistant:{% endif %}"},
    {"deepseek3",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}"
     "{% elif m.role == 'user' %}{{ '<｜User｜>' + m.content }}"
     "{% else %}{{ '<｜Assistant｜>' + m.content + '<｜end▁of▁sentence｜>' }}{% endif %}{% endfor "
     "%}"
     "{% if add_generation_prompt %}<｜Assistant｜>{% endif %}"},
    {"gemma", PUNA_SYSTEM_FIRST
     "{{ '<start_of_turn>user\\n' + ns.system + m.content | trim + '<end_of_turn>\\n' "
     "}}" PUNA_SYSTEM_DONE
     "{% else %}{{ '<start_of_turn>model\\n' + m.content | trim + '<end_of_turn>\\n' }}"
     "{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"},
    {"granite",
     "{% for m in messages %}{{ '<|start_of_role|>' + m.role + '<|end_of_role|>' + m.content + "
     "'<|end_of_text|>\\n' }}{% endfor %}"
     "{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}"},
    {"llama2",
     "{% set ns = namespace(system='') %}{% for m in messages %}{% if m.role == 'system' %}"
     "{% set ns.system = '<<SYS>>\\n' + m.content + '\\n<</SYS>>\\n\\n' %}"
     "{% elif m.role == 'user' %}"
     "{{ bos_token + '[INST] ' + ns.system + m.content + ' [/INST]' }}" PUNA_SYSTEM_DONE
     "{% else %}{{ ' ' + m.content + ' ' + eos_token }}{% endif %}{% endfor %}"},
    {"llama3",
     "{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + "
     "m.content | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
     "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"},
    {"mistral-v1", "{{ bos_token }}" PUNA_SYSTEM_FIRST
                   "{{ ' [INST] ' + ns.system + m.content + ' [/INST]' }}" PUNA_SYSTEM_DONE
                   "{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"},
    {"mistral-v3", "{{ bos_token }}" PUNA_SYSTEM_FIRST
                   "{{ '[INST] ' + ns.system + m.content + '[/INST]' }}" PUNA_SYSTEM_DONE
                   "{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"},
    {"mistral-v3-tekken", "{{ bos_token }}" PUNA_SYSTEM_FIRST
                          "{{ '[INST]' + ns.system + m.content + '[/INST]' }}" PUNA_SYSTEM_DONE
                          "{% else %}{{ m.content + eos_token }}{% endif %}{% endfor %}"},
    {"mistral-v7",
     "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}"
     "{{ '[SYSTEM_PROMPT] ' + m.content + '[/SYSTEM_PROMPT]' }}{% elif m.role == 'user' %}"
     "{{ '[INST] ' + m.content + '[/INST]' }}"
     "{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"},
    {"mistral-v7-tekken",
     "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}"
     "{{ '[SYSTEM_PROMPT]' + m.content + '[/SYSTEM_PROMPT]' }}{% elif m.role == 'user' %}"
     "{{ '[INST]' + m.content + '[/INST]' }}"
     "{% else %}{{ m.content + eos_token }}{% endif %}{% endfor %}"},
    {"openchat",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '<|end_of_turn|>' }}"
     "{% else %}{{ 'GPT4 Correct ' + m.role | title + ': ' + m.content + '<|end_of_turn|>' }}"
     "{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}GPT4 Correct Assistant:{% endif %}"},
    {"phi3",
     "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"},
    {"phi4",
     "{% for m in messages %}{{ '<|im_start|>' + m.role + '<|im_sep|>' + m.content + "
     "'<|im_end|>' }}{% endfor %}"
     "{% if add_generation_prompt %}<|im_start|>assistant<|im_sep|>{% endif %}"},
    {"rwkv-world",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content | trim + '\\n\\n' }}"
     "{% elif m.role == 'user' %}{{ 'User: ' + m.content | trim + '\\n\\n' }}"
     "{% else %}{{ 'Assistant: ' + m.content | trim + '\\n\\n' }}{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}Assistant:{% endif %}"},
    {"vicuna",
     "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + ' ' }}"
     "{% elif m.role == 'user' %}{{ 'USER: ' + m.content + ' ' }}"
     "{% else %}{{ 'ASSISTANT: ' + m.content + eos_token }}{% endif %}{% endfor %}"
     "{% if add_generation_prompt %}ASSISTANT:{% endif %}"},
    {"zephyr",
     "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + eos_token + '\\n' }}"
     "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"},
};

#undef PUNA_SYSTEM_FIRST
#undef PUNA_SYSTEM_DONE

}  // namespace

std::span<const BuiltInTemplate> built_in_templates() { return kTemplates; }

const BuiltInTemplate* find_built_in(std::string_view name) {
  const auto found = std::ranges::find(kTemplates, name, &BuiltInTemplate::name);
  return found == std::end(kTemplates) ? nullptr : &*found;
}

}  // namespace puna::chat
