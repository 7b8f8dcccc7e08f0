"""Can the model hub be reached? Asked before what would try for half a minute."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

SECONDS = 10  # that an answer is waited for


def reach() -> None:
    """Pass where anybody answers at the hub's address, whatever the answer; OSError, at
    once or within ten seconds.
    """
    from huggingface_hub.constants import ENDPOINT, HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        raise OSError("HF_HUB_OFFLINE is set")
    request = urllib.request.Request(ENDPOINT, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=SECONDS).close()
    except urllib.error.URLError as error:
        # An answer that is an error, or a certificate that is not known here, is for
        # the hub's own code, which may know another certificate.
        if isinstance(error.reason, (ConnectionError, TimeoutError, socket.gaierror)):
            raise OSError(f"{ENDPOINT} cannot be reached: {error.reason}") from None
    except TimeoutError:
        raise OSError(f"{ENDPOINT} did not answer in {SECONDS} seconds") from None
