"""Shows a folder at an address of this machine alone: serve.py FOLDER"""
import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


handler = functools.partial(Handler, directory=sys.argv[1])
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    print(f"Locus is at http://127.0.0.1:{server.server_port}/ until Ctrl+C", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
