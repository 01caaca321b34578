from memory_industry.shim import main

main()
