"""The `curl` of Bash tools: the most common options, by Python's own HTTP client, through the broker."""

PROGRAM = """
import sys, urllib.error, urllib.request
args, url, method, headers, data, fails, out = sys.argv[1:], "", "", {}, None, False, ""
while args:
    one = args.pop(0)
    if one in ("-X", "--request"): method = args.pop(0)
    elif one in ("-H", "--header"):
        name, _, value = args.pop(0).partition(":"); headers[name.strip()] = value.strip()
    elif one in ("-d", "--data", "--data-binary", "--data-raw"):
        text = args.pop(0)
        data = text.encode()
        if text[:1] == "@" and one != "--data-raw":
            data = sys.stdin.buffer.read() if text == "@-" else open(text[1:], "rb").read()
    elif one in ("-o", "--output"): out = args.pop(0)
    elif one in ("-f", "--fail"): fails = True
    elif one in ("-s", "-S", "-L", "--silent", "--show-error", "--location"): pass
    elif one.startswith("-") and set(one[1:]) <= set("fsSL") and one[1:]: fails = fails or "f" in one
    elif one.startswith("-"): sys.exit("curl: the option " + one + " is not known here")
    else: url = one
try:
    request = urllib.request.Request(url, data=data, headers=headers, method=method or None)
    with urllib.request.urlopen(request) as answer: body = answer.read()
except urllib.error.HTTPError as error:
    body = error.read()
    if fails:
        sys.stderr.write(f"curl: the host answered {error.code} " + body[:500].decode("utf-8", "replace"))
        sys.exit(22)
except (OSError, ValueError) as error:
    sys.stderr.write("curl: " + str(error)); sys.exit(7)
(open(out, "wb") if out else sys.stdout.buffer).write(body)
"""
