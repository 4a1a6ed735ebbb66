import sys

from tools.reference.pages import main

sys.exit(main())
