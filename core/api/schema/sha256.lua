-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- SHA-256 of a short text and base64: for the storage version hashes that discovery shows.

local M = {}

local K, H0 = {}, {}

-- The constants are the first 32 bits of the fractions of roots of the first primes.
local function frac_root(p, root)
	local r = root == 2 and math.sqrt(p) or p ^ (1 / 3)
	-- Doubles hold 52 bits, enough for 32 bits of the fraction; one Newton step removes the rounding of pow.
	if root == 3 then
		r = r - (r * r * r - p) / (3 * r * r)
	end
	return math.floor((r % 1) * 4294967296)
end

do
	local n, candidate = 0, 2
	while n < 64 do
		local prime = true
		for d = 2, math.floor(math.sqrt(candidate)) do
			if candidate % d == 0 then
				prime = false
				break
			end
		end
		if prime then
			n = n + 1
			K[n] = frac_root(candidate, 3)
			if n <= 8 then
				H0[n] = frac_root(candidate, 2)
			end
		end
		candidate = candidate + 1
	end
end

local function rotr(x, n)
	return ((x >> n) | (x << (32 - n))) & 0xffffffff
end

local function block(h, text, at)
	local w = { string.unpack(">I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4I4", text, at) }
	for i = 17, 64 do
		local s0 = rotr(w[i - 15], 7) ~ rotr(w[i - 15], 18) ~ (w[i - 15] >> 3)
		local s1 = rotr(w[i - 2], 17) ~ rotr(w[i - 2], 19) ~ (w[i - 2] >> 10)
		w[i] = (w[i - 16] + s0 + w[i - 7] + s1) & 0xffffffff
	end
	local a, b, c, d, e, f, g, hh = table.unpack(h)
	for i = 1, 64 do
		local s1 = rotr(e, 6) ~ rotr(e, 11) ~ rotr(e, 25)
		local t1 = (hh + s1 + ((e & f) ~ (~e & 0xffffffff & g)) + K[i] + w[i]) & 0xffffffff
		local s0 = rotr(a, 2) ~ rotr(a, 13) ~ rotr(a, 22)
		local t2 = (s0 + ((a & b) ~ (a & c) ~ (b & c))) & 0xffffffff
		hh, g, f, e, d, c, b, a = g, f, e, (d + t1) & 0xffffffff, c, b, a, (t1 + t2) & 0xffffffff
	end
	for i, v in ipairs({ a, b, c, d, e, f, g, hh }) do
		h[i] = (h[i] + v) & 0xffffffff
	end
end

function M.digest(text)
	local h = { table.unpack(H0) }
	local padded = text .. "\x80" .. ("\0"):rep((55 - #text) % 64) .. string.pack(">I8", #text * 8)
	for at = 1, #padded, 64 do
		block(h, padded, at)
	end
	return string.pack(">I4I4I4I4I4I4I4I4", table.unpack(h))
end

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

function M.base64(bytes)
	local out = {}
	for at = 1, #bytes, 3 do
		local a, b, c = bytes:byte(at, at + 2)
		local n = a << 16 | (b or 0) << 8 | (c or 0)
		for i = 0, 3 do
			local digit = (n >> (18 - 6 * i)) & 63
			local pad = (i == 2 and not b) or (i == 3 and not c)
			out[#out + 1] = pad and "=" or alphabet:sub(digit + 1, digit + 1)
		end
	end
	return table.concat(out)
end

-- base64 of the first eight bytes of the digest, as storageVersionHash is made.
function M.version_hash(group, version, kind)
	return M.base64(M.digest(group .. "/" .. version .. "/" .. kind):sub(1, 8))
end

return M
