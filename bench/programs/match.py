"""Looks for pictures as pyautogui does when it has OpenCV: pyscreeze's _locateAll_opencv, in colour, with a confidence.

Debian has no package of pyautogui; these are its lines. Prints for each scene the first place that it finds, which is what
pyautogui.locateOnScreen() returns, and the milliseconds that finding it took.
"""
import json
import sys
import time

import cv2
import numpy

CONFIDENCE = 0.9

folder, count = sys.argv[1], int(sys.argv[2])
for scene in range(count):
    haystack = cv2.imread(f"{folder}/{scene}-screen.png", cv2.IMREAD_COLOR)
    needle = cv2.imread(f"{folder}/{scene}-image.png", cv2.IMREAD_COLOR)
    started = time.perf_counter()
    result = cv2.matchTemplate(haystack, needle, cv2.TM_CCOEFF_NORMED)
    indices = numpy.arange(result.size)[(result > CONFIDENCE).flatten()]
    first = None
    if len(indices) > 0:
        y, x = numpy.unravel_index(int(indices[0]), result.shape)
        first = [int(x), int(y)]
    print(json.dumps({"first": first, "ms": (time.perf_counter() - started) * 1000}))
