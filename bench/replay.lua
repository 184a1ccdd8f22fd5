-- Replays signed requests through wrk and checks every answer.
--
-- Script arguments: a file, the number of threads, the seconds to send for, and the requests per
-- second to keep to (0: as many as can be). The file has records: a line "name marks bytes_min length
-- stamp", then the request itself (see load.py). An answer is right when its status is 200, it has
-- the marks and bytes that some request under way on this thread awaits, and every mark has the
-- stamp of one of the requests ("*" in the file: of whoever wrote the item last).
--
-- When the time is over nothing more is sent, but wrk runs on for a moment to receive the answers
-- still due: some servers do not survive clients that vanish in the middle of a write.

local ffi = require("ffi")
ffi.cdef("typedef struct { long s; long ns; } instant; int clock_gettime(int, instant *);")

local instant = ffi.new("instant")
local requests, names, wanted, stamps, waiting = {}, {}, {}, {}, {}
local position, count, thread_count, seconds, started = 0, 0, 1, 0, nil
local threads = {}

answered, wrong, first_wrong = 0, 0, ""

local function now()
  ffi.C.clock_gettime(1, instant)
  return tonumber(instant.s) + tonumber(instant.ns) / 1e9
end

function setup(thread)
  thread:set("thread_number", #threads)
  threads[#threads + 1] = thread
end

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  for line in file:lines() do
    local name, marks, bytes_min, length, stamp = line:match("(%S*) (%d+) (%d+) (%d+) (%S+)")
    count = count + 1
    requests[count] = file:read(tonumber(length))
    names[count] = name
    wanted[name] = { marks = tonumber(marks), bytes_min = tonumber(bytes_min) }
    waiting[name] = 0
    stamps[stamp] = true
  end
  file:close()
  seconds = tonumber(arguments[3])
  -- Threads take turns in the list, so that no thread repeats what another one has just written.
  thread_count = tonumber(arguments[2])
  position = thread_number - thread_count
  local rate = tonumber(arguments[4]) / thread_count
  if rate > 0 then
    local slot = now()
    function delay()  -- milliseconds until the next request is due
      slot = slot + 1 / rate
      return math.max(0, math.floor(1000 * (slot - now())))
    end
  end
end

function request()
  started = started or now()
  if now() - started > seconds then return "" end  -- wrk sends nothing, and awaits nothing
  position = (position + thread_count) % count
  local name = names[position + 1]
  waiting[name] = waiting[name] + 1
  return requests[position + 1]
end

local function is_right(status, body)
  if status ~= 200 then return false end
  local marks, name, stamp = 0, "", ""
  local at = body:find("chk.", 1, true)  -- plain, as patterns are slow on long answers
  while at do
    name, stamp = body:match("^chk%.(%w+)%.(%w+)", at)
    if not stamps["*"] and not stamps[stamp] then return false end
    marks = marks + 1
    at = body:find("chk.", at + 4, true)
  end
  if wanted["*"] then name = "*" end
  local want = wanted[name]
  if not want or marks ~= want.marks or #body < want.bytes_min or waiting[name] < 1 then
    return false
  end
  waiting[name] = waiting[name] - 1
  return true
end

function response(status, headers, body)
  if now() - started <= seconds then answered = answered + 1 end
  if not is_right(status, body) then
    if wrong == 0 then first_wrong = status .. " " .. body:sub(1, 300) end
    wrong = wrong + 1
  end
end

function done(summary, latency, rates)
  local total, total_wrong, example = 0, 0, ""
  for _, thread in ipairs(threads) do
    total = total + thread:get("answered")
    total_wrong = total_wrong + thread:get("wrong")
    if example == "" then example = thread:get("first_wrong") end
  end
  local errors = summary.errors
  io.write(string.format(
    "RESULT answered=%d p50=%d p99=%d wrong=%d broken=%d\n",
    total, latency:percentile(50), latency:percentile(99), total_wrong,
    errors.connect + errors.read + errors.write + errors.timeout))
  if example ~= "" then io.write("WRONG ", example, "\n") end
end
