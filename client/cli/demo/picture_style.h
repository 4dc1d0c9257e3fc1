// Colours and type of the demo's picture. Hues are of the Okabe-Ito palette, which reads alike with
// and without red-green colour blindness; lightness and shape tell the marks apart as well.

#ifndef WINNOW_CLIENT_CLI_DEMO_PICTURE_STYLE_H_
#define WINNOW_CLIENT_CLI_DEMO_PICTURE_STYLE_H_

namespace winnow::cli {

inline constexpr char kPictureStyle[] = R"css(
text { font-family: system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; }
.title { font-size: 24px; font-weight: 600; fill: #1f2328; }
.subtitle { font-size: 13px; fill: #414a53; }
.legend { font-size: 12px; fill: #414a53; }
.name { font-size: 13px; font-weight: 600; fill: #1f2328; }
.note { font-size: 11px; fill: #59636e; }
.tick { font-size: 10px; fill: #59636e; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.paper { fill: #ffffff; }
.plot { fill: #f6f8fa; }
.track { fill: #eaeef2; }
.under { fill: #e3e8ed; }
.range { fill: #aab4bf; stroke: #8c959f; stroke-width: 0.6; }
.token { fill: none; stroke: #d55e00; stroke-width: 3; stroke-linecap: round; }
.lowest { stroke: #d55e00; stroke-width: 0.8; stroke-dasharray: 4 3; }
.block { fill: #0072b2; }
.share1 { fill-opacity: 0.3; }
.share2 { fill-opacity: 0.55; }
.share3 { fill-opacity: 0.8; }
.later { fill: #009e73; }
@media (prefers-color-scheme: dark) {
.title, .name { fill: #f0f6fc; }
.subtitle, .legend { fill: #c9d1d9; }
.note, .tick { fill: #9198a1; }
.paper { fill: #0d1117; }
.plot { fill: #151b23; }
.track { fill: #212830; }
.under { fill: #262d36; }
.range { fill: #515c68; stroke: #6e7985; }
.token, .lowest { stroke: #f0a03c; }
.block { fill: #56b4e9; }
.later { fill: #2fc79b; }
}
)css";

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_PICTURE_STYLE_H_
