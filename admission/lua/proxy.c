/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects and lists of the host as read-only userdata: nothing is copied until a script looks at it. */
#include "admission/lua/state.h"

static const char metatable[] = "keelson.value";

struct proxy {
	struct ks_val value;
	uint64_t serial;
};

struct iteration {
	struct ks_val value;
	struct ks_val_iter iter;
	uint64_t serial;
	int is_list;
};

void ks_lua_proxy_push(lua_State *L, struct ks_val value)
{
	const struct lua_state *state = ks_lua_state_of(L);
	const struct ks_value_ops *values = state->values;
	struct ks_view text;
	struct proxy *proxy;

	switch (values->kind(value)) {
	case KS_VAL_BOOL:
		lua_pushboolean(L, values->boolean(value));
		return;
	case KS_VAL_INT:
		lua_pushinteger(L, values->integer(value));
		return;
	case KS_VAL_FLOAT:
		lua_pushnumber(L, values->number(value));
		return;
	case KS_VAL_STRING:
		text = values->string(value);
		lua_pushlstring(L, text.n ? text.p : "", text.n);
		return;
	case KS_VAL_LIST:
	case KS_VAL_OBJECT:
		proxy = lua_newuserdatauv(L, sizeof(*proxy), 0);
		*proxy = (struct proxy){value, state->serial};
		luaL_setmetatable(L, metatable);
		return;
	default:
		lua_pushnil(L);
	}
}

static struct ks_val check(lua_State *L)
{
	struct proxy *proxy = luaL_checkudata(L, 1, metatable);

	if (proxy->serial != ks_lua_state_of(L)->serial)
		luaL_error(L, "this value belongs to an earlier request");
	return proxy->value;
}

static int index_value(lua_State *L)
{
	const struct ks_value_ops *values = ks_lua_state_of(L)->values;
	struct ks_val value = check(L), found = {0};
	struct ks_view name;
	int is_integer;
	lua_Integer at;

	if (values->kind(value) == KS_VAL_LIST) {
		at = lua_tointegerx(L, 2, &is_integer);
		if (is_integer && at >= 1 && (size_t)at <= values->length(value))
			found = values->item(value, (size_t)at - 1);
	} else if (lua_type(L, 2) == LUA_TSTRING) {
		name.p = lua_tolstring(L, 2, &name.n);
		found = values->member(value, name);
	}
	ks_lua_proxy_push(L, found);
	return 1;
}

static int length(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)ks_lua_state_of(L)->values->length(check(L)));
	return 1;
}

static int refuse_change(lua_State *L)
{
	return luaL_error(L, "a policy can't change the object it looks at");
}

static int step(lua_State *L)
{
	struct iteration *it = lua_touserdata(L, lua_upvalueindex(1));
	const struct lua_state *state = ks_lua_state_of(L);
	struct ks_val_item item;

	if (it->serial != state->serial)
		return luaL_error(L, "this value belongs to an earlier request");
	if (state->values->iterate(it->value, &it->iter, &item, 1) == 0) {
		lua_pushnil(L);
		return 1;
	}
	if (it->is_list)
		lua_pushinteger(L, luaL_optinteger(L, 2, 0) + 1);
	else
		lua_pushlstring(L, item.key.n ? item.key.p : "", item.key.n);
	ks_lua_proxy_push(L, item.value);
	return 2;
}

static int pairs(lua_State *L)
{
	struct ks_val value = check(L);
	const struct lua_state *state = ks_lua_state_of(L);
	struct iteration *it = lua_newuserdatauv(L, sizeof(*it), 0);

	*it = (struct iteration){.value = value, .serial = state->serial, .is_list = state->values->kind(value) == KS_VAL_LIST};
	lua_pushcclosure(L, step, 1);
	return 1;
}

static int as_text(lua_State *L)
{
	struct lua_state *state = ks_lua_state_of(L);
	struct ks_view json = state->values->to_json(state->op, check(L));

	if (!json.p)
		return ks_lua_state_stop(L, LUA_STOP_MEMORY);
	lua_pushlstring(L, json.p, json.n);
	return 1;
}

int ks_lua_proxy_open(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{"__index", index_value}, {"__newindex", refuse_change}, {"__len", length}, {"__pairs", pairs}, {"__tostring", as_text}, {NULL, NULL}};

	luaL_newmetatable(L, metatable);
	luaL_setfuncs(L, functions, 0);
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
	return 0;
}
