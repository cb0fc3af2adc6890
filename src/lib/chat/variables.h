/* Chat templates: reading the variables of a rendering. */
#ifndef CHAT_VARIABLES_H
#define CHAT_VARIABLES_H

#include "base/json.h"
#include "lib/chat/run.h"

/* Reads the next value. key: its name, if it is in an object. data: its strings come from a conversation. */
value chat_value_read(render *r, json_reader *j, json_text key, bool data);
/* Reads an object. top: of the variables; strings with names such as bos_token count as parts of the template. */
value chat_dict_read(render *r, json_reader *j, bool top);

#endif
