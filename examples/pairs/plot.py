#!/usr/bin/env python3
"""Draws g(r) of radial.json: heddle run radial.json --db DB --format csv | plot.py > pairs-radial.svg"""
import csv
import sys

WIDTH, HEIGHT, LEFT, BELOW = 640, 320, 50, 40


def main():
    points = [(float(row["r"]), float(row["g"])) for row in csv.DictReader(sys.stdin)]
    right, top = points[-1][0] * 1.02, max(g for _, g in points) * 1.05

    def x(r):
        return LEFT + r / right * (WIDTH - LEFT - 10)

    def y(g):
        return HEIGHT - BELOW - g / top * (HEIGHT - BELOW - 10)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for r in range(0, int(right) + 1, 5):
        out.append(f'<text x="{x(r):.1f}" y="{HEIGHT - BELOW + 18}" text-anchor="middle">{r}</text>')
    for g in range(0, int(top) + 1, 5):
        out += [f'<text x="{LEFT - 8}" y="{y(g) + 4:.1f}" text-anchor="end">{g}</text>',
                f'<line x1="{LEFT}" y1="{y(g):.1f}" x2="{WIDTH - 10}" y2="{y(g):.1f}" stroke="#ddd"/>']
    out += [f'<line x1="{LEFT}" y1="{y(1):.1f}" x2="{WIDTH - 10}" y2="{y(1):.1f}" stroke="#888" stroke-dasharray="4 3"/>',
            f'<polyline fill="none" stroke="#06c" stroke-width="2" points="{" ".join(f"{x(r):.1f},{y(g):.1f}" for r, g in points)}"/>',
            f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">distance r</text>',
            f'<text x="14" y="{HEIGHT / 2}" transform="rotate(-90 14 {HEIGHT / 2})" text-anchor="middle">pairs, of uniform points = 1</text>',
            "</svg>"]
    print("\n".join(out))


if __name__ == "__main__":
    main()
