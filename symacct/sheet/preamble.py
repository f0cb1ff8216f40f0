"""What stands before the text of a LaTeX sheet: its title as data, and the macros that its rows use."""

FIRST = "% Made by symacct sheet: each formula was derived or judged, and read back, when this was written."
START = r"""
\RequirePackage{fix-cm}
\documentclass{article}
"""
CARD = r"""
\usepackage[a4paper,margin=7.5mm]{geometry}
\usepackage{multicol}
\setlength{\columnsep}{5mm}
\setlength{\multicolsep}{2pt}
\newcommand{\base}{\fontsize{7.6}{8.9}\selectfont}
\newcommand{\fine}{\fontsize{6.2}{7.1}\selectfont}
\newcommand{\widths}{\def\wa{0.258}\def\wb{0.535}\def\wc{0.168}}
"""
FULL = r"""
\usepackage[a4paper,margin=16mm]{geometry}
\newcommand{\base}{\fontsize{9}{11.4}\selectfont\setlength{\parskip}{1pt plus 1pt}}
\newcommand{\fine}{\fontsize{7.5}{9}\selectfont}
\newcommand{\widths}{\def\wa{0.30}\def\wb{0.48}\def\wc{0.19}}
\newcommand{\derived}[1]{\vspace{4pt}{\itshape #1}\par\nopagebreak}
\newcommand{\indented}[1]{\hspace*{#1em}}
\newcommand{\step}[3]{\indented{#1}\parbox[t]{\dimexpr0.42\linewidth-#1em}{\raggedright\strut #2\strut}%
  \hfill\parbox[t]{0.56\linewidth}{\raggedright\strut #3\strut}\par}
\newcommand{\said}[2]{\indented{#1}\parbox[t]{\dimexpr\linewidth-#1em}{\raggedright\strut #2\strut}\par}
"""
PLAIN_FONTS = r"""
\usepackage{iftex}
\ifPDFTeX
  \usepackage[utf8]{inputenc}
  \IfFileExists{lmodern.sty}{\usepackage[T1]{fontenc}\usepackage{lmodern}}{}
\else
  \usepackage{fontspec}
\fi
"""
CHINESE_FONTS = r"""
\usepackage[UTF8,scheme=plain]{ctex}
\ifdefined\xeCJKsetup\xeCJKsetup{CJKmath=true}\fi
"""
REST = r"""
\usepackage{amsmath,xcolor,textcomp,tabularx}
\definecolor{good}{HTML}{0B6B3A}
\definecolor{near}{HTML}{9A5B00}
\definecolor{bad}{HTML}{B00020}
\definecolor{told}{HTML}{555555}
\pagestyle{empty}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0pt}
\setlength{\emergencystretch}{2em}
\hbadness=10000
\hfuzz=1pt
\raggedbottom
\newcommand{\cellof}[2]{\parbox[t]{#1\linewidth}{\raggedright\strut #2\strut}}
\newcommand{\row}[3]{\widths\cellof{\wa}{#1}\hfill\cellof{\wb}{#2}%
  \hfill\cellof{\wc}{\relpenalty=10000 #3}\par}
\newenvironment{grid}[1]{\fine\tabcolsep=3pt\def\arraystretch{1.12}\tabularx{\linewidth}%
  {@{}*{#1}{l}>{\raggedright\arraybackslash}X@{}}}{\endtabularx\par\vspace{5pt}}
\newcommand{\head}[1]{\vspace{2.5pt}{\bfseries #1}\par\vspace{-3pt}\rule{\linewidth}{0.3pt}\par\nopagebreak}
"""
XELATEX = "% !TEX program = xelatex\n"


TITLED = r"""
\ifdefined\pdfinfo\pdfinfo{/Title <%s>}\fi
\ifdefined\pdfextension\pdfextension info {/Title <%s>}\fi
\ifdefined\XeTeXversion\AtBeginDocument{\special{pdf:docinfo <</Title <%s>>>}}\fi
"""
"""The title of the PDF for each engine, in UTF-16, so that no letter of it means anything to TeX."""


def titled(title: str) -> str:
    r"""Return what gives a PDF its title; nothing for an empty one.

    >>> titled("Ab").splitlines()[0]
    '\\ifdefined\\pdfinfo\\pdfinfo{/Title <FEFF00410062>}\\fi'
    """
    shown = "".join(char if char.isprintable() else " " for char in title).strip()
    code = f"\ufeff{shown}".encode("utf-16-be", "replace").hex().upper()
    return TITLED.lstrip() % (code, code, code) if shown else ""


def preamble(*, card: bool, chinese: bool) -> str:
    r"""Return what stands before ``\begin{document}``.

    >>> preamble(card=True, chinese=True).splitlines()[0]
    '% !TEX program = xelatex'
    """
    engine = XELATEX if chinese else ""
    parts = (START, CARD if card else FULL, CHINESE_FONTS if chinese else PLAIN_FONTS, REST)
    return engine + FIRST + "".join(part.rstrip("\n") for part in parts) + "\n"
